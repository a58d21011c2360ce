package scan

import "strings"

// context searches the tokens of the range that was read for secrets that can be recognised only by
// their surroundings: the command, the protocol or the sentence that contains them. It also finds
// numbers of cards, accounts and phones. Each secret becomes one token.
//
// The pass costs little, because it looks closer only at the few words and characters that come
// before such secrets.
func (s *scanner) context(first int) {
	for k := first; k < len(s.dst); k++ {
		t := &s.dst[k]
		var from, to int
		switch t.Kind {
		case Word:
			if rule := trigger(t.Hash); rule != noRule {
				from, to = s.apply(rule, k)
			} else if t.End-t.Start == 4 && isDigit(s.text[t.Start+3]) {
				from, to = s.account97(int(t.Start))
			}
		case Number, ID:
			if t.End-t.Start < 2 && t.Glued {
				continue
			}
			from, to = s.numbers(k)
		case Punct:
			from, to = s.marks(k)
		case Path: // of a command
			name := t.Text(s.text)
			if rule := trigger(HashWord(name[strings.LastIndexByte(name, '/')+1:])); rule == ruleArgument {
				from, to = s.argumentOf(k)
			}
		default:
			continue
		}
		if from < to {
			s.cover(k, from, to)
		}
	}
}

// cover replaces the tokens of text[from:to] by one Secret. All of them are near the token k. A
// token that is only partly in the range becomes a part of the Secret. cover returns the index of the
// Secret.
func (s *scanner) cover(k, from, to int) int {
	i := min(k, len(s.dst)-1)
	for i > 0 && int(s.dst[i].Start) >= to {
		i--
	}
	for i > 0 && int(s.dst[i-1].End) > from {
		i--
	}
	for i < len(s.dst) && int(s.dst[i].End) <= from {
		i++
	}
	j := i
	for j < len(s.dst) && int(s.dst[j].Start) < to {
		j++
	}
	if i == j {
		return k
	}
	secret := s.dst[i]
	if secret.Kind == Secret && int(secret.Start) <= from && int(secret.End) >= to {
		return i
	}
	secret.Kind, secret.Hash, secret.Num = Secret, 0, 0
	secret.Start, secret.End = min(secret.Start, int32(from)), max(s.dst[j-1].End, int32(to))
	s.dst[i] = secret
	if j > i+1 {
		s.dst = append(s.dst[:i+1], s.dst[j:]...)
	}
	return i
}

// rule says how the secret near a word is found.
type rule uint8

const (
	noRule rule = iota
	ruleDirective
	ruleSentence
	ruleForeignName
	rulePassCommand
	ruleAuthCommand
	ruleAuthenticate
	ruleLogin
	ruleAccount
	ruleIdentify
	ruleOracle
	ruleSend
	ruleSecureString
	ruleAttribute
	ruleElementValue
	ruleOneTimeCode
	ruleUsing
	ruleCommunity
	rulePuttyKey
	rulePhone
	rulePrinted
	ruleHtpasswd
	ruleNetUse
	ruleThirdArgument
	ruleArgument
	ruleUsers
	ruleCall
	rulePhrase
	ruleBind
	ruleAnswer
)

// apply returns the position of the secret near the word of token k. The position is empty if there
// is no secret. The function uses a switch, because with a table of functions each scanner would be
// allocated.
func (s *scanner) apply(r rule, k int) (from, to int) {
	switch r {
	case ruleDirective:
		return s.directive(k)
	case ruleSentence:
		return s.sentence(k)
	case ruleForeignName:
		return s.foreignName(k)
	case rulePassCommand:
		return s.passCommand(k)
	case ruleAuthCommand:
		return s.authCommand(k)
	case ruleAuthenticate:
		return s.authenticate(k)
	case ruleLogin:
		return s.login(k)
	case ruleAccount:
		return s.account(k)
	case ruleIdentify:
		return s.identify(k)
	case ruleOracle:
		return s.oracle(k)
	case ruleSend:
		return s.send(k)
	case ruleSecureString:
		return s.secureString(k)
	case ruleAttribute:
		return s.attribute(k)
	case ruleElementValue:
		return s.elementValue(k)
	case ruleUsing:
		return s.using(k)
	case ruleOneTimeCode:
		return s.oneTimeCode(k)
	case ruleCommunity:
		return s.community(k)
	case rulePuttyKey:
		return s.puttyKey(k)
	case rulePhone:
		return s.phone(k)
	case rulePrinted:
		return s.printed(k)
	case ruleHtpasswd:
		return s.htpasswd(k)
	case ruleNetUse:
		return s.netUse(k)
	case ruleThirdArgument:
		return s.thirdArgument(k)
	case ruleArgument:
		return s.argumentOf(k)
	case ruleUsers:
		return s.users(k)
	case ruleCall:
		return s.call(int(s.dst[k].End))
	case rulePhrase:
		return s.phrase(k)
	case ruleBind:
		return s.bind(k)
	case ruleAnswer:
		return s.securityAnswer(k)
	case noRule:
	}
	return 0, 0
}

// triggers has one bit for the hash of each word that a rule begins with, so that other words cost
// no look-up.
var (
	rules    = makeRules()
	triggers = makeTriggers()
)

const triggerBits = 1 << 12

func makeTriggers() (bits [triggerBits / 64]uint64) {
	for hash := range rules {
		bit := hash % triggerBits
		bits[bit/64] |= 1 << (bit % 64)
	}
	return bits
}

func trigger(hash uint64) rule {
	bit := hash % triggerBits
	if triggers[bit/64]>>(bit%64)&1 == 0 {
		return noRule
	}
	return rules[hash]
}

func makeRules() map[uint64]rule {
	all := make(map[uint64]rule)
	for _, r := range [...]struct {
		rule  rule
		words string
	}{
		{ruleDirective, "bindpw rootpw userpw adminpw pw requirepass masterauth"},
		{ruleSentence, "password passwd passphrase passcode passwort kennwort pwd senha"},
		{ruleForeignName, foreignNames},
		{rulePassCommand, "pass passe"},
		{ruleAuthCommand, "auth"},
		{ruleAuthenticate, "authenticate authentication"},
		{ruleLogin, "login logon logged"},
		{ruleAccount, "credential signin basic provider"},
		{ruleIdentify, "identify oper"},
		{ruleOracle, "sqlplus expdp impdp sqlldr rman connect conn"},
		{ruleSend, "send"},
		{ruleSecureString, "secure"},
		{ruleAttribute, "name key id field entry parameter variable"},
		{ruleElementValue, "value"},
		{ruleOneTimeCode, "cvv cvc csc code otp pin mtan pushtan smstan zugangscode freigabecode bestätigungscode sicherheitscode anmeldecode código codigo"},
		{ruleUsing, "using"},
		{ruleCommunity, "community"},
		{rulePuttyKey, "lines mac"},
		{rulePhone, "phone telephone tel mobile cell cellphone fax msisdn sms handy telefon"},
		{rulePrinted, "echo printf"},
		{ruleHtpasswd, "htpasswd"},
		{ruleNetUse, "net"},
		{ruleThirdArgument, "isql"},
		{ruleArgument, argumentWords()},
		{ruleUsers, "chpasswd"},
		{ruleCall, "pdo connection"},
		{rulePhrase, "phrase"},
		{ruleBind, "bind binding ldapbind"},
		{ruleAnswer, "answer"},
	} {
		for word := range strings.FieldsSeq(r.words) {
			all[HashWord(word)] = r.rule
		}
	}
	return all
}
