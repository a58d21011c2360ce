package scan

import "strings"

// printed finds a password that is printed into a program: echo x | sudo -S true.
func (s *scanner) printed(k int) (from, to int) {
	end := int(s.dst[k].End)
	rest := s.lineRest(end)
	bar := strings.Index(rest, "|")
	if bar < 2 || rest[0] != ' ' {
		return end, end
	}
	reader := rest[bar:]
	for _, name := range [...]string{"sudo -S", "-stdin", "passwd", "cryptsetup", "kinit", "passphrase-fd", "-with-token", "login", "vault write", "smbpasswd"} {
		if !strings.Contains(reader, name) {
			continue
		}
		for from, to = s.next(end); s.at(from) == '-' && to-from == 2; {
			from, to = s.next(to)
		}
		if to > end+bar || s.at(from) == '$' {
			return end, end
		}
		if colon := strings.IndexByte(s.text[from:to], ':'); colon > 0 {
			from += colon + 1
		}
		return from, to
	}
	return end, end
}

// htpasswd finds the password in htpasswd -b file user x and htpasswd -nb user x.
func (s *scanner) htpasswd(k int) (from, to int) {
	end := int(s.dst[k].End)
	from, to = s.next(end)
	if s.at(from) != '-' || strings.IndexByte(s.text[from:to], 'b') < 0 {
		return end, end
	}
	more := 3
	if strings.IndexByte(s.text[from:to], 'n') >= 0 {
		more = 2
	}
	for range more {
		from, to = s.next(s.afterQuote(to))
	}
	return from, to
}

// netUse finds the password in net use \\server\share x and net user name x of Windows.
func (s *scanner) netUse(k int) (from, to int) {
	end := int(s.dst[k].End)
	word, i := s.wordAfter(end)
	skip := 0
	switch word {
	case "use":
	case "user":
		skip = 1
	default:
		return end, end
	}
	limit := i + len(s.lineRest(i))
	for i < limit {
		from = s.skipSpaces(i)
		to = from
		for to < limit && s.is(to)&cBlank == 0 {
			to++
		}
		if to == from || s.at(from-1) != ' ' {
			break
		}
		i = to
		switch {
		case s.text[from] == '\\' || s.text[from] == '/' || s.text[from] == '*' || s.text[to-1] == ':' || s.text[from] == '[':
		case skip > 0:
			skip--
		case s.harmless(from) || to-from < 4:
			return end, end
		case isQuote(s.text[from]):
			return s.next(from)
		default:
			return from, to
		}
	}
	return end, end
}

// thirdArgument finds the password in isql source user x.
func (s *scanner) thirdArgument(k int) (from, to int) {
	end := int(s.dst[k].End)
	to = end
	for range 3 {
		if from, to = s.next(s.afterQuote(to)); s.at(from) == '-' || s.at(from) == '[' || from == to || s.at(from-1) != ' ' && !isQuote(s.at(from-1)) {
			return end, end
		}
	}
	if s.harmless(from) || !s.passwordLike(from, to) && !s.last(to) {
		return end, end
	}
	return from, to
}

// secondArgument finds the passphrase in wpa_passphrase network x.
func (s *scanner) secondArgument(k int) (from, to int) {
	end := int(s.dst[k].End)
	if !strings.HasPrefix(s.text[end:], "_passphrase ") {
		return end, end
	}
	_, to = s.next(end + len("_passphrase"))
	from, to = s.next(to)
	return from, to
}

// passwordOptions says in which options a command takes a password.
type passwordOptions struct {
	glued, apart string // letters of options with the password directly behind them, and after a blank
}

var passwordCommands = func() map[string]passwordOptions {
	all := make(map[string]passwordOptions)
	add := func(o passwordOptions, names string) {
		for name := range strings.FieldsSeq(names) {
			all[name] = o
		}
	}
	add(passwordOptions{glued: "p"}, "mysql mysqldump mysqladmin mysqlimport mysqlshow mysqlcheck mysqlpump mariadb mytop z za zr zz rar unrar")
	add(passwordOptions{glued: "pP", apart: "pP"}, "sshpass psexec rdesktop cqlsh mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat "+
		"login influx wmic winexe rdesktop imapsync vncviewer")
	add(passwordOptions{glued: "P", apart: "P"}, "zip unzip sqlcmd bcp osql isql tsql freebcp ipmitool mosquitto") //nolint:misspell // mosquitto is a program
	add(passwordOptions{apart: "a"}, "redis valkey")
	add(passwordOptions{apart: "NP"}, "keygen")
	add(passwordOptions{glued: "p", apart: "p"}, "steghide runas")
	add(passwordOptions{apart: "AX"}, "snmpget snmpwalk snmpset snmpbulkwalk snmpbulkget snmptrap snmp")
	add(passwordOptions{apart: "w"}, "ldapsearch ldapadd ldapmodify ldapdelete ldappasswd ldapwhoami ldap")
	return all
}()

// lineWords is how many tokens before an option are read for the command.
const lineWords = 40

// passwordOption returns the position of the password in an option such as -p x or -px, if the
// command before it, or an option with the name of a user, shows that it is a password.
func (s *scanner) passwordOption(i int) (from, to int) {
	letter := s.at(i + 1)
	after := i + 2
	if letter == 'h' && s.at(after) == 'p' && s.is(after+1)&cBlank == 0 { // rar -hpx
		letter, after = 'p', after+1
	}
	if strings.IndexByte("pPaAXwN", letter) < 0 || i > s.base && s.text[i-1] == '-' {
		return i, i
	}
	if j := s.wordEnd(i + 1); j > i+3 && strengthOf(s.text[i+1:j]) != noKey { // -password x
		return i, i
	}
	apart := s.at(after) == ' ' || isQuote(s.at(after)) && (s.at(after+1) == ',' || s.at(after+1) == ' ')
	user := false
	for k := len(s.dst) - 1; k >= max(0, len(s.dst)-lineWords) && s.dst[k].Kind != Newline; k-- {
		t := &s.dst[k]
		if t.Kind != Word {
			continue
		}
		name := t.Text(s.text)
		if options, known := passwordCommands[name]; known && s.commandAt(k, name) {
			if letters := options.glued; !apart && strings.IndexByte(letters, letter) >= 0 {
				return s.gluedValue(after)
			}
			if apart && strings.IndexByte(options.apart, letter) >= 0 {
				return s.optionValue(after, true)
			}
			return i, i
		}
		user = user || userOption(s, k, name)
	}
	if user && letter == 'p' && s.at(after) == ':' && !isDigit(s.at(after+1)) { // winrs -u:name -p:x
		return s.next(after + 1)
	}
	if user && apart && (letter == 'p' || letter == 'P' || letter == 'w') {
		return s.optionValue(after, false)
	}
	return i, i
}

func (s *scanner) wordEnd(i int) int {
	for s.is(i)&cLetter != 0 {
		i++
	}
	return i
}

// commandAt reports whether the token k is the name of the command and not a part of another name.
func (s *scanner) commandAt(k int, name string) bool {
	switch name {
	case "z", "za", "zr", "zz": // 7z
		return k > 0 && s.dst[k].Glued && s.dst[k-1].Text(s.text) == "7"
	}
	return true
}

// userOption reports whether the token k is an option with the name of a user.
func userOption(s *scanner, k int, name string) bool {
	switch name {
	case "u", "U", "user", "username", "login":
		return k > 0 && s.dst[k].Glued && (s.dst[k-1].Hash == '-' || s.dst[k-1].Hash == '/')
	}
	return false
}

// gluedValue returns the value that is directly behind an option.
func (s *scanner) gluedValue(i int) (from, to int) {
	if s.is(i)&cBlank != 0 || i >= len(s.text) || s.text[i] == '[' {
		return i, i
	}
	if isQuote(s.text[i]) {
		if s.is(i+1)&cBlank != 0 || i+1 >= len(s.text) || s.at(i+1) == ',' || s.at(i+1) == ']' {
			return i, i
		}
		return i + 1, s.end(i+1, s.text[i])
	}
	return i, s.valueEnd(i)
}

// optionValue returns the value after an option. If the command is not known, ports, paths and
// short words are not taken for passwords.
func (s *scanner) optionValue(i int, known bool) (from, to int) {
	from, to = s.argument(i)
	if to-from < 1 || s.text[from] == '-' || s.text[from] == '$' || s.text[from] == '[' {
		return i, i
	}
	if !known && !s.passwordLike(from, to) {
		return i, i
	}
	if known && allDigits(s.text[from:to]) && to-from < 4 {
		return i, i
	}
	return from, to
}

// windowsOption returns the position of the password in /p:x beside /u:name, and in /rp x.
func (s *scanner) windowsOption(i int) (from, to int) {
	rest := s.text[i:]
	if hasFoldPrefix(rest, "/user:") { // runas /user:name x
		_, to = s.next(i + len("/user:"))
		if from, to = s.next(s.afterQuote(to)); strong(s.text[from:max(from, to)]) {
			return from, to
		}
		return i, i
	}
	for _, option := range [...]string{"/p:", "/rp ", "/password:", "/pass:", "/pw:"} {
		if !hasFoldPrefix(rest, option) {
			continue
		}
		if option == "/p:" && !strings.Contains(s.text[s.lineBegin(i):i], "/u:") || option == "/rp " && !strings.Contains(s.text[s.lineBegin(i):i], "/ru ") {
			return i, i
		}
		return s.next(i + len(option))
	}
	return i, i
}
