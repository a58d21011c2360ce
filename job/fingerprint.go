package job

// Fingerprint names the group of a failure: "kind|class|code", where class and
// code may be empty. Failures that differ only in their texts have the same. It
// is stored with failure records and is what dead letters are grouped by, so its
// form must stay as it is. A kind has no '|', see store.ValidName.
func Fingerprint(kind, class, code string) string { return kind + "|" + class + "|" + code }
