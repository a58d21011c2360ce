package scan

// SecretMember reports whether the value of a member, such as one of a JSON object, is
// secret because of the member's name. Values such as "null" and "expired" are not
// secret.
func SecretMember(name, value string) bool {
	return secretMember(strengthOf(name), value)
}

// SecretParameter is like SecretMember for a parameter of a URL. In a URL, more names announce
// secrets: key, code, X-Amz-Signature.
func SecretParameter(name, value string) bool {
	level := strengthOf(name)
	if more := parameterStrength(name); more != noKey && (level == noKey || level == hintKey) {
		level = more
	}
	if level == tokenKey {
		level = sureKey
	}
	return secretMember(level, value)
}

func secretMember(level strength, value string) bool {
	if level == noKey || value == "" {
		return false
	}
	s := scanner{text: value, chunkEnd: len(value)}
	if level == folderKey && value[0] == '/' || s.harmless(0) {
		return false
	}
	switch level {
	case headerKey:
		return s.looksSecret(0, len(value)) || len(value) >= 8
	case cookieKey:
		return true
	default:
		return s.isSecret(0, len(value), level, '"', link{tight: true})
	}
}

// parameterStrength returns the strength of names that mean secrets only in URLs.
func parameterStrength(name string) strength {
	var buf [32]byte
	n := 0
	for i := range len(name) {
		if c := name[i]; classOf[c]&cAlnum != 0 {
			if n == len(buf) {
				return noKey
			}
			buf[n] = lower(c)
			n++
		}
	}
	switch string(buf[:n]) {
	case "sig", "signature", "xamzsignature", "xgoogsignature", "xamzcredential", "xgoogcredential", "xamzsecuritytoken", "xosssignature",
		"hmac", "jwt", "auth", "session", "sessionid", "sid", "jsessionid", "phpsessid", "pw", "pass", "ticket", "assertion", "samlresponse",
		"samlrequest", "codeverifier", "awsaccesskeyid", "googleaccessid", "ossaccesskeyid", "lsig", "policy", "hdnts", "hdnea", "sas":
		return tokenKey
	case "key", "code", "appid", "k", "apptoken", "csrf", "state", "nonce", "t", "h", "hash":
		return blobKey
	}
	return noKey
}

// SecretPart returns the position of a key or token in a text without white space, such as a
// part of a URL's path. The two results are equal when there is no key.
func SecretPart(text string) (from, to int) {
	s := scanner{text: text, chunkEnd: len(text)}
	for i := 0; i+shapeMin <= len(text); i++ {
		if !partBegins(text, i) {
			continue
		}
		if end := s.shape(i); end > i {
			return i, end
		}
	}
	return 0, 0
}

// partBegins reports whether a key may begin at i. A key begins at a letter or digit that
// follows neither a letter nor a digit, or at a digit after letters, as in bot123456:….
func partBegins(text string, i int) bool {
	switch {
	case classOf[text[i]]&cAlnum == 0:
		return false
	case i == 0 || classOf[text[i-1]]&cAlnum == 0:
		return true
	}
	return isDigit(text[i]) && !isDigit(text[i-1])
}

// LooksSecret reports whether a text without white space looks random, as keys and
// tokens do: at least 16 characters, letters and digits or capitals and small letters mixed.
func LooksSecret(text string) bool {
	s := scanner{text: text}
	if len(text) < blobKeyMin {
		return false
	}
	var run blobRun
	for i := range len(text) {
		run.add(classOf[text[i]])
	}
	return s.blobLike(0, len(text)) || run.upper > 3 && run.lower > 3 && run.changes*3 >= len(text)
}

// SecretName reports whether a name is that of a secret, such as apiKey. Names that only suggest a
// secret, such as session, do not count.
func SecretName(name string) bool {
	switch strengthOf(name) {
	case sureKey, passKey, tokenKey, headerKey, cookieKey, pinKey:
		return true
	default:
		return false
	}
}
