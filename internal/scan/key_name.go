package scan

import "strings"

// strengthOf returns the strength of a name. Only the end of the name matters, so DB_PASSWORD,
// dbPassword and pgpassword have the same strength.
func strengthOf(text string) strength {
	level := strengthOfEnd(text)
	if level != noKey {
		return level
	}
	if rest := withoutSuffix(text); len(rest) < len(text) {
		// A name such as key2 or code_v1 is not the name of a secret, so a weak name has no suffix.
		if level = strengthOfEnd(rest); level == sureKey || level == tokenKey || level == hintKey && hasFoldSuffix(rest, "signature") {
			return level
		}
	}
	return noKey
}

// nameSuffixes are words after the name of a secret that do not change what its value is, as in
// password_confirmation or API_KEY_PROD.
var nameSuffixes = wordSet("confirmation confirm confirmed verify repeat again new old current value raw plain plaintext cleartext text " +
	"b64 base64 prod production dev development test testing staging stage live sandbox primary secondary backup main sha1 sha256 sha512")

// suffixMax is the length of the longest word of nameSuffixes.
const suffixMax = len("confirmation")

// withoutSuffix returns a name without a number, a version or a word of nameSuffixes at its end.
func withoutSuffix(name string) string {
	end := len(name)
	for end > 0 && (isDigit(name[end-1]) || classOf[name[end-1]]&cJoin != 0) {
		end--
	}
	if end < len(name) {
		if end > 1 && lower(name[end-1]) == 'v' && classOf[name[end-2]]&cJoin != 0 {
			end--
		}
		return strings.TrimRight(name[:end], "-_")
	}
	var buf [suffixMax]byte
	at, n := end, len(buf)
	for at > 0 && n > 0 && classOf[name[at-1]]&cAlnum != 0 {
		at--
		n--
		buf[n] = lower(name[at])
		if wordBorder(name, at) {
			break
		}
	}
	if at > 1 && nameSuffixes[string(buf[n:])] && wordBorder(name, at) {
		return strings.TrimRight(name[:at], "-_")
	}
	return name
}

// strengthOfEnd returns the strength of the name at the end of a text.
func strengthOfEnd(text string) strength {
	var buf [48]byte
	n := len(buf)
	for k := len(text); k > 0 && n > 0; k-- {
		if c := text[k-1]; classOf[c]&cAlnum != 0 {
			n--
			buf[n] = lower(c)
		}
	}
	name := buf[n:]
	if len(name) < 2 {
		return noKey
	}
	for _, k := range keyNames[name[len(name)-1]&0x7f] {
		rest := len(name) - len(k.name)
		if rest < 0 || string(name[rest:]) != k.name {
			continue
		}
		if rest > 0 && (k.part == alone || k.part == asWord && !wordBorder(text, len(text)-len(k.name))) {
			continue
		}
		if k.name == "key" && keepsKey(name[:rest]) || k.strength == passKey && rest > 0 && harmlessPass(name[:rest]) {
			return noKey
		}
		return k.strength
	}
	return noKey
}

// part says where in a longer name the name of a secret may be.
type part uint8

const (
	anywhere part = iota // the name may also be the end of a word, such as pgpassword
	asWord               // the name must be the whole last word; so pass is not found in bypass
	alone                // the text must be the whole name
)

type keyName struct {
	name     string
	part     part
	strength strength
}

// keyNames contains the words at the end of the names of secrets. The words are grouped by
// their last byte. In each group, longer words come before shorter words.
var keyNames = keysByLast([]keyName{
	{"chpasswd", alone, noKey},
	{"password", anywhere, sureKey}, {"passwd", anywhere, sureKey}, {"oldpwd", alone, folderKey}, {"pwd", alone, folderKey},
	{"pwd", anywhere, sureKey}, {"pswd", anywhere, sureKey}, {"psw", asWord, sureKey}, {"passphrase", anywhere, sureKey}, {"passcode", anywhere, sureKey}, {"pass", anywhere, passKey},
	{"pw", asWord, sureKey},
	{"creds", asWord, authKey}, {"appid", alone, hintKey}, {"mnemonic", asWord, sureKey}, {"seedphrase", anywhere, sureKey}, {"securityanswer", anywhere, sureKey}, {"secretid", anywhere, idKey}, {"secretstring", anywhere, sureKey},
	{"upw", alone, sureKey}, {"opw", alone, sureKey}, {"ownerpw", anywhere, sureKey}, {"psk", asWord, sureKey}, {"honeycombteam", anywhere, sureKey}, {"userpass", anywhere, authKey}, {"basicauth", anywhere, authKey}, {"authpass", anywhere, sureKey},
	{"bindpw", anywhere, sureKey}, {"rootpw", anywhere, sureKey}, {"userpw", anywhere, sureKey}, {"adminpw", anywhere, sureKey}, {"dbpw", anywhere, sureKey},
	{"pin", asWord, pinKey}, {"pincode", anywhere, pinKey}, {"tan", alone, pinKey}, {"pan", alone, pinKey},
	{"passwort", anywhere, sureKey}, {"kennwort", anywhere, sureKey}, {"motdepasse", anywhere, sureKey}, {"senha", asWord, sureKey},
	{"palavrapasse", anywhere, sureKey}, {"contrasena", anywhere, sureKey}, {"heslo", asWord, sureKey}, {"haslo", asWord, sureKey}, {"wachtwoord", anywhere, sureKey},
	{"salasana", anywhere, sureKey}, {"losenord", anywhere, sureKey}, {"adgangskode", anywhere, sureKey}, {"passord", anywhere, sureKey}, {"parola", asWord, sureKey},
	{"sifre", asWord, sureKey}, {"jelszo", anywhere, sureKey}, {"lozinka", asWord, sureKey}, {"geslo", asWord, sureKey}, {"katasandi", anywhere, sureKey},
	{"parool", asWord, sureKey}, {"kodeord", anywhere, sureKey}, {"contrasinal", asWord, sureKey}, {"contrasenya", asWord, sureKey}, {"wagwoord", asWord, sureKey}, {"pasahitza", asWord, sureKey}, {"zaporka", asWord, sureKey}, {"slaptazodis", anywhere, sureKey}, {"matkhau", anywhere, sureKey}, {"parole", asWord, tokenKey},
	{"secret", anywhere, sureKey}, {"secretkeybase", anywhere, sureKey},
	{"apikey", anywhere, sureKey}, {"accesskey", anywhere, sureKey}, {"secretkey", anywhere, sureKey}, {"privatekey", anywhere, sureKey},
	{"accountkey", anywhere, sureKey}, {"signingkey", anywhere, sureKey}, {"encryptionkey", anywhere, sureKey},
	{"sharedkey", anywhere, sureKey}, {"masterkey", anywhere, sureKey}, {"authkey", anywhere, sureKey},
	{"subscriptionkey", anywhere, sureKey}, {"servicekey", anywhere, sureKey}, {"storagekey", anywhere, sureKey},
	{"licensekey", anywhere, sureKey}, {"adminkey", anywhere, sureKey}, {"deploykey", anywhere, sureKey},
	{"servicerolekey", anywhere, sureKey}, {"key", asWord, hintKey},
	{"accesstoken", anywhere, sureKey}, {"authtoken", anywhere, sureKey}, {"refreshtoken", anywhere, sureKey},
	{"sessiontoken", anywhere, sureKey}, {"securitytoken", anywhere, sureKey}, {"apitoken", anywhere, sureKey},
	{"bearertoken", anywhere, sureKey}, {"idtoken", anywhere, sureKey}, {"bottoken", anywhere, sureKey}, {"token", anywhere, tokenKey},
	{"jwt", asWord, hintKey}, {"bearer", alone, hintKey}, {"auth", asWord, authKey}, {"oauth", alone, hintKey}, {"credential", anywhere, tokenKey},
	{"credentials", anywhere, hintKey}, {"signature", asWord, hintKey}, {"sig", asWord, hintKey}, {"session", asWord, hintKey},
	{"sessionid", anywhere, hintKey}, {"sessid", anywhere, hintKey}, {"sid", asWord, hintKey}, {"csrf", asWord, hintKey},
	{"otp", asWord, sureKey}, {"cvv", asWord, sureKey}, {"cvc", asWord, sureKey}, {"ssn", asWord, sureKey},
	{"authorization", anywhere, headerKey}, {"setcookie", alone, cookieKey}, {"cookie", alone, cookieKey},
})

func keysByLast(all []keyName) (table [128][]keyName) {
	for _, k := range all {
		last := k.name[len(k.name)-1]
		table[last] = append(table[last], k)
	}
	return table
}

// keepsKey reports whether the word before "key" in a name shows that the key is not secret, as
// in partition_key or idempotencyKey.
func keepsKey(before []byte) bool {
	for _, word := range [...]string{"idempotency", "partition", "primary", "foreign", "routing", "sort", "cache", "object", "public",
		"unique", "dedup", "deduplication", "message", "record", "group", "hash", "range", "index", "lock", "redis", "s3", "bucket", "file", "row"} {
		if strings.HasSuffix(string(before), word) {
			return true
		}
	}
	return false
}

// harmlessPass reports whether a name that ends with pass is no password, as bypass and renderpass.
func harmlessPass(before []byte) bool {
	for _, word := range [...]string{"by", "com", "encom", "sur", "tres", "over", "under", "low", "high", "band", "all", "multi", "single", "one", "two", "first", "second",
		"last", "next", "prev", "num", "sub", "render", "boarding", "back", "each", "per", "test", "tests", "check", "checks", "must", "did", "will", "not", "log", "max", "min", "get"} {
		if strings.HasSuffix(string(before), word) {
			return true
		}
	}
	return false
}

// wordBorder reports whether a new word begins at i in a name.
// named returns the position of the secret that follows an identifier such as password. from
// and to are equal if no secret follows.
func wordBorder(name string, i int) bool {
	if i <= 0 || classOf[name[i-1]]&cAlnum == 0 {
		return true
	}
	return classOf[name[i]]&cUpper != 0 && classOf[name[i-1]]&cLower != 0
}
