package scan

import "strings"

// argumentForms are commands that take a secret at a fixed place, word by word: '*' is any word,
// "x*" one that begins with x, and '!' is the secret. Options between the words are skipped.
var argumentForms = [...]string{
	"mc alias set * * * !", "mc config host add * * * !",
	"rabbitmqctl add_user * !", "rabbitmqctl change_password * !", "rabbitmqctl authenticate_user * !",
	"composer config http-basic.* * !", "composer config *-oauth.* !", "bundle config * *:!", "bundle config set * *:!",
	"b2 authorize-account * !", "b2 account authorize * !",
	"sentinel auth-pass * !", "sentinel set * auth-pass !", "acl setuser * on >!", "acl setuser * >!",
	"mysqladmin password !", "mosquitto_passwd * * !", "openssl passwd !", "mkpasswd !", //nolint:misspell // mosquitto is a program
	"wpa_passphrase * !", "etcdctl put *password !", "rclone obscure !", "ansible-vault encrypt_string !",
	"az keyvault secret set --value !", "gh secret set * --body !", "smbpasswd * !", "ceph config-key set *password !", "snmpconf community !", "dsquery pwd !",
}

// argumentWords are the first words of argumentForms, for the table of rules.
func argumentWords() string {
	var words []string
	for _, form := range argumentForms {
		first, _, _ := strings.Cut(form, " ")
		word, _, _ := strings.Cut(first, "_")
		word, _, _ = strings.Cut(word, "-")
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// argumentOf finds the secret that is an argument of the command of token k.
func (s *scanner) argumentOf(k int) (from, to int) {
	start, end := int(s.dst[k].Start), int(s.dst[k].End)
	if s.dst[k].Kind == Path {
		start += strings.LastIndexByte(s.text[start:end], '/') + 1
	}
	if start > s.base && classOf[s.text[start-1]]&(cAlnum|cJoin|cDot) != 0 {
		return end, end
	}
	for _, form := range argumentForms {
		if from, to = s.form(form, start); from < to {
			return from, to
		}
	}
	return end, end
}

// form compares the words from i on with a form, and returns the position of its secret.
func (s *scanner) form(form string, i int) (from, to int) {
	none := i
	for want := range strings.FieldsSeq(form) {
		from, to = s.argumentAt(i)
		for n := 0; from < to && n < 12 && (s.text[from] == '-' && want[0] != '-' || want[0] == '-' && s.text[from:to] != want); n++ {
			from, to = s.argumentAt(s.afterQuote(to))
		}
		if to-from < 1 {
			return none, none
		}
		i = s.afterQuote(to)
		before, secret := strings.CutSuffix(want, "!")
		if !secret {
			if !matchesWord(want, s.text[from:to]) {
				return none, none
			}
			continue
		}
		switch before {
		case "*:":
			n := strings.IndexByte(s.text[from:to], ':')
			if n < 1 {
				return none, none
			}
			from += n + 1
		case ">":
			if s.text[from] != '>' {
				return none, none
			}
			from++
		}
		if to-from < 4 || s.harmless(from) || s.text[from] == '[' {
			return none, none
		}
		return from, to
	}
	return none, none
}

// argumentAt returns the argument at or after i: up to the next blank, or in quotes. A comma between
// quoted arguments is skipped.
func (s *scanner) argumentAt(i int) (from, to int) {
	i = s.skipSpaces(i)
	if s.at(i) == ',' {
		i = s.skipSpaces(i + 1)
	}
	if isQuote(s.at(i)) {
		return i + 1, max(i+1, s.end(i+1, s.text[i]))
	}
	to = i
	for to < min(len(s.text), i+passwordMax) && s.is(to)&cBlank == 0 && !isQuote(s.text[to]) {
		to++
	}
	return i, to
}

// matchesWord reports whether an argument is the word of a form. Case does not count.
func matchesWord(want, got string) bool {
	switch {
	case want == "*":
		return true
	case strings.HasPrefix(want, "*"):
		return hasFoldSuffix(got, strings.TrimSuffix(want[1:], "*")) || strings.HasSuffix(want, "*") && strings.Contains(strings.ToLower(got), want[1:len(want)-1])
	case strings.HasSuffix(want, "*"):
		return hasFoldPrefix(got, want[:len(want)-1])
	}
	return strings.EqualFold(want, got)
}

// users finds the passwords of the lines name:x after chpasswd.
func (s *scanner) users(k int) (from, to int) {
	end := int(s.dst[k].End)
	i := end
	for range 4 {
		rest := s.text[i:min(len(s.text), i+lineMax)]
		n, escaped := strings.IndexByte(rest, '\n'), strings.Index(rest, `\n`)
		if escaped >= 0 && (n < 0 || escaped < n) {
			n = escaped + 1
		}
		if n < 0 {
			break
		}
		i = s.skipSpaces(i + n + 1)
		for s.at(i) == '-' || s.at(i) == ' ' || isQuote(s.at(i)) {
			i++
		}
		j := i
		for s.is(j)&(cAlnum|cJoin|cDot) != 0 {
			j++
		}
		if j > i && s.at(j) == ':' && s.is(j+1)&cBlank == 0 && s.last(s.valueEnd(j+1)) && s.valueEnd(j+1)-j > 4 && s.text[j+1] != '[' {
			return j + 1, s.valueEnd(j + 1)
		}
	}
	return end, end
}
