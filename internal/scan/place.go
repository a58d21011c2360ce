package scan

import "strings"

// The shapes that name a place: URLs, hosts, addresses, files.

// url finds a URL by its scheme. It goes on to white space or a quote; what
// closes a sentence or a bracket is not part of it.
func (s *scanner) url(i int) int {
	if s.mask&cSlash == 0 {
		return i
	}
	j := i
	for j < i+schemeMax && (classOf[s.at(j)]&cAlnum != 0 || s.at(j) == '+' || s.at(j) == '-' || s.at(j) == '.') {
		j++
	}
	rest := s.text[j:]
	switch {
	case strings.HasPrefix(rest, "://"):
		return s.urlEnd(i, j+3)
	case strings.HasPrefix(rest, `:\/\/`):
		return s.urlEnd(i, j+5)
	case strings.HasPrefix(rest, ":") && j == i+4 && strings.EqualFold(s.text[i:j], "jdbc"):
		for k := j + 1; k < j+1+schemeMax && (classOf[s.at(k)]&cAlnum != 0 || s.at(k) == ':'); k++ {
			if strings.HasPrefix(s.text[k:], "://") {
				return s.urlEnd(i, k+3)
			}
		}
	}
	return i
}

const schemeMax = 32

func (s *scanner) urlEnd(start, i int) int {
	j := s.urlChars(i)
	if j == i {
		return start
	}
	// A password may have any character, so what is before the @ belongs to it.
	if authority := s.text[i:j]; strings.IndexByte(authority, ':') >= 0 && strings.IndexByte(authority, '@') < 0 && j < s.chunkEnd {
		port := authority[strings.IndexByte(authority, ':')+1:]
		if port == "" || !isDigit(port[0]) {
			limit := min(s.chunkEnd, j+256)
			if at := strings.IndexByte(s.text[j:limit], '@'); at >= 0 {
				j = s.urlChars(j + at)
			}
		}
	}
	return s.trimURL(i, j)
}

// urlChars returns the end of the characters that a URL may have.
func (s *scanner) urlChars(i int) int {
	for ; i < s.chunkEnd; i++ {
		switch c := s.text[i]; {
		case c == '"' || c == '\'' || c == '<' || c == '>' || c == '`' || c == '|':
			return i
		case c == '\\' && s.at(i+1) != '/' && !strings.HasPrefix(s.text[i:], `\u00`):
			return i
		case c == 0xe2 && s.at(i+1) == 0x80:
			return i
		}
	}
	return i
}

func (s *scanner) trimURL(start, end int) int {
	for end > start {
		switch c := s.text[end-1]; c {
		case '.', ',', ';', ':', '!', '?', '*':
			end--
		case ')', ']', '}':
			open := map[byte]string{')': "(", ']': "[", '}': "{"}[c]
			part := s.text[start:end]
			if strings.Count(part, open) >= strings.Count(part, string(c)) {
				return end
			}
			end--
		default:
			return end
		}
	}
	return end
}

// email finds an address at i.
func (s *scanner) email(i int) int {
	if i < s.noEmail {
		return i
	}
	j := i
	for j < s.chunkEnd && (classOf[s.text[j]]&(cAlnum|cDot|cJoin) != 0 || s.text[j] == '+' || s.text[j] == '%') {
		j++
	}
	if s.at(j) != '@' {
		s.noEmail = j
		return i
	}
	k, dots := j+1, 0
	for k < s.chunkEnd && classOf[s.text[k]]&(cAlnum|cDot|cJoin) != 0 {
		if s.text[k] == '.' && classOf[s.at(k+1)]&cAlnum != 0 {
			dots++
		}
		k++
	}
	for k > j+1 && classOf[s.text[k-1]]&cAlnum == 0 {
		k--
	}
	if dots == 0 || k < j+4 || isDigit(s.text[k-1]) {
		s.noEmail = j
		return i
	}
	return k
}

// dotted finds names with dots: hosts, files, versions.
func (s *scanner) dotted(i int) (int, Kind) {
	if i < s.noDotted {
		return i, Host
	}
	j, lastDot, labels, digitsOnly := i, -1, 1, true
	for j < s.chunkEnd {
		c := classOf[s.text[j]]
		if c&cDot != 0 {
			if classOf[s.at(j+1)]&cAlnum == 0 {
				break
			}
			lastDot = j
			labels++
		} else if c&(cAlnum|cJoin) == 0 {
			break
		} else if c&cDigit == 0 && lastDot >= 0 {
			digitsOnly = false
		}
		j++
	}
	for j > i && classOf[s.text[j-1]]&cAlnum == 0 {
		j--
	}
	s.noDotted = j
	if lastDot < 0 || lastDot >= j || classOf[s.at(j)]&cHigh != 0 {
		return i, Host
	}
	last := s.text[lastDot+1 : j]
	switch {
	case digitsOnly && lower(s.text[i]) == 'v' && isDigit(s.at(i+1)):
		return j, ID
	case isExtension(last):
		return j, File
	case isDomain(last, labels) && s.at(j) != '(':
		if s.at(j) == '/' && classOf[s.at(j+1)]&cAlnum != 0 {
			return s.trimURL(i, s.urlChars(j)), URL
		}
		return j, Host
	}
	return i, Host
}

const localhost = "localhost"

// localhost reports whether the one name of a host without a dot is at i.
func (s *scanner) localhost(i int) bool {
	if s.text[i] != 'l' || !strings.HasPrefix(s.text[i:], localhost) {
		return false
	}
	after := s.at(i + len(localhost))
	return classOf[after]&(cAlnum|cHigh|cJoin) == 0 && (after != '.' || classOf[s.at(i+len(localhost)+1)]&cAlnum == 0)
}

// isDomain reports whether a last label says that the name is a host's. Of two
// labels only those count that are no words of programs.
func isDomain(label string, labels int) bool {
	switch label {
	case "com", "net", "org", "io", "dev", "ai", "app", "co", "cloud", "gov", "edu", "mil", "info", "biz",
		"local", "internal", "intranet", "lan", "corp", "svc", "example", "invalid", "localhost", "arpa", "onion",
		"uk", "de", "fr", "nl", "eu", "ru", "cn", "jp", "br", "au", "ca", "ch", "se", "es", "kr", "tr", "ua", "cz", "fi", "dk",
		"COM", "NET", "ORG":
		return true
	case "test", "home", "in", "us", "it", "at", "be", "me", "to", "tv", "gg", "xyz", "tech", "site", "online", "store":
		return labels > 2
	}
	return false
}

// isExtension reports whether a last label is that of files.
func isExtension(label string) bool {
	if len(label) > 8 {
		return false
	}
	var b [8]byte
	for i := range len(label) {
		b[i] = lower(label[i])
	}
	switch string(b[:len(label)]) {
	case "go", "py", "js", "mjs", "cjs", "ts", "tsx", "jsx", "java", "rb", "php", "rs", "c", "cc", "cpp", "h", "hpp", "cs", "kt",
		"scala", "ex", "exs", "erl", "lua", "pl", "sh", "bash", "swift", "sql", "vue", "html", "htm", "css", "scss",
		"mp4", "mov", "mkv", "webm", "avi", "m4a", "m4v", "mp3", "wav", "flac", "ogg", "opus", "aac", "ts4", "m3u8", "mpd",
		"srt", "vtt", "jpg", "jpeg", "png", "gif", "webp", "heic", "tif", "tiff", "bmp", "svg", "ico", "avif", "psd",
		"pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "rtf", "txt", "csv", "tsv", "md", "epub",
		"json", "jsonl", "ndjson", "yaml", "yml", "toml", "ini", "cfg", "conf", "xml", "env", "lock", "log", "out", "err",
		"tmp", "bak", "swp", "part", "zip", "tar", "gz", "tgz", "bz2", "xz", "zst", "7z", "rar", "jar", "war", "whl",
		"exe", "dll", "so", "dylib", "bin", "dat", "db", "sqlite", "sqlite3", "parquet", "avro", "pem", "crt", "cer", "key", "p12", "pfx",
		"sock", "pid", "wasm", "iso", "img", "onnx", "safetensors", "ttf", "woff", "woff2":
		return true
	}
	return false
}

// relPath finds a relative path whose last part has the extension of a file.
func (s *scanner) relPath(i int) int {
	if i < s.noRelPath {
		return i
	}
	j, slash, dot := i, -1, -1
	for ; j < s.chunkEnd; j++ {
		c := s.text[j]
		if c == '/' {
			slash = j
		} else if c == '.' {
			dot = j
		} else if !pathChar(c) {
			break
		}
	}
	end := s.trimPath(i, j)
	s.noRelPath = j
	if slash < 0 || dot < slash || dot+1 >= end || !isExtension(s.text[dot+1:end]) {
		return i
	}
	return end
}

func pathChar(c byte) bool {
	if classOf[c]&(cAlnum|cHigh|cJoin|cDot) != 0 {
		return true
	}
	return c == '+' || c == '~' || c == '@' || c == '%' || c == '$' || c == '#'
}

func (s *scanner) trimPath(start, end int) int {
	for end > start+1 && (s.text[end-1] == '.' || s.text[end-1] == '%' || s.text[end-1] == '@') {
		end--
	}
	return end
}

// path finds an absolute path, or one from ~ . or .., and the path of a request.
func (s *scanner) path(i int) (int, Kind) {
	if i > s.base && !s.mayBeginPath(i) {
		return i, Path
	}
	j := i
	for s.at(j) == '.' || s.at(j) == '~' {
		j++
	}
	relative := j > i
	if s.at(j) != '/' || j > i+2 {
		return i, Path
	}
	if end := s.quotedPath(i); end > i {
		return end, Path
	}
	segments, first := 0, ""
	for s.at(j) == '/' && pathChar(s.at(j+1)) {
		from := j + 1
		for j = from; j < len(s.text) && (pathChar(s.text[j]) || s.text[j] == '\\' && s.at(j+1) == ' '); j++ {
			if s.text[j] == '\\' {
				j++
			}
		}
		segments++
		if first == "" {
			first = s.text[from:j]
		}
	}
	if s.at(j) == '/' && segments > 0 {
		j++
	}
	end := s.trimPath(i, j)
	switch {
	case !relative && segments > 0 && s.requestPath(first):
		return s.trimURL(i, max(end, s.urlChars(j))), URL
	case relative && segments > 0, segments > 1:
		return end, Path
	case segments == 1 && (isRoot(first) || hasExtension(s.text[i:end])):
		return end, Path
	}
	return i, Path
}

// mayBeginPath looks at what is before a path: nothing, a bracket, a quote, an
// option such as -I.
func (s *scanner) mayBeginPath(i int) bool {
	switch c := s.text[i-1]; c {
	case ' ', '\t', '\n', '\r', '"', '\'', '`', '(', '[', '{', '=', ':', ',', '|', ';', '@', '>', '!', '&':
		return true
	default:
		if classOf[c]&cBlank != 0 {
			return true
		}
		if classOf[c]&cHigh != 0 {
			return true
		}
		return classOf[c]&cLetter != 0 && i > s.base+1 && s.text[i-2] == '-' && (i < s.base+3 || classOf[s.text[i-3]]&cBlank != 0)
	}
}

// quotedPath returns the end of a path in quotes, which may have spaces.
func (s *scanner) quotedPath(i int) int {
	if i == s.base {
		return i
	}
	q := s.text[i-1]
	if q != '"' && q != '\'' && q != '`' {
		return i
	}
	limit := min(len(s.text), i+quotedMax)
	n := strings.IndexByte(s.text[i:limit], q)
	if n < 0 {
		return i
	}
	quoted := s.text[i : i+n]
	if !strings.Contains(quoted, " ") || strings.Count(quoted, "/") < 2 || strings.ContainsAny(quoted, ":,;\n=") {
		return i
	}
	return i + n
}

const quotedMax = 256

// requestPath reports whether a path is that of a request: after its method, or
// by the way it begins.
func (s *scanner) requestPath(first string) bool {
	switch first {
	case "api", "graphql", "rest", "oauth", "oauth2", "rpc":
		return true
	}
	if len(first) > 1 && len(first) < 4 && first[0] == 'v' && isDigit(first[1]) {
		return true
	}
	n := len(s.dst)
	if n > 0 && s.dst[n-1].Kind == Punct && n > 1 {
		n--
	}
	if n == 0 || s.dst[n-1].Kind != Word {
		return false
	}
	switch s.dst[n-1].Text(s.text) {
	case "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS":
		return true
	}
	return false
}

func isRoot(segment string) bool {
	switch segment {
	case "tmp", "etc", "var", "usr", "home", "root", "opt", "srv", "mnt", "media", "proc", "sys", "dev", "bin", "sbin",
		"lib", "lib64", "run", "boot", "data", "app", "Users", "Volumes", "private", "Library", "Applications", "workspace":
		return true
	}
	return false
}

func hasExtension(path string) bool {
	dot := strings.LastIndexByte(path, '.')
	return dot >= 0 && isExtension(path[dot+1:])
}

// windowsPath finds C:\… and C:/….
func (s *scanner) windowsPath(i int) int {
	if classOf[s.text[i]]&cLetter == 0 || s.at(i+1) != ':' || s.at(i+2) != '\\' && s.at(i+2) != '/' {
		return i
	}
	return s.backslashed(i, i+2)
}

// uncPath finds \\server\share.
func (s *scanner) uncPath(i int) int {
	j := i
	for s.at(j) == '\\' {
		j++
	}
	if j < i+2 || classOf[s.at(j)]&cAlnum == 0 {
		return i
	}
	k := j
	for classOf[s.at(k)]&(cAlnum|cDot|cJoin) != 0 || s.at(k) == '$' {
		k++
	}
	if s.at(k) != '\\' || k < j+2 {
		return i
	}
	return s.backslashed(i, k)
}

func (s *scanner) backslashed(start, i int) int {
	for i < len(s.text) {
		switch c := s.text[i]; {
		case pathChar(c) || c == '\\' || c == '/' || c == '(' || c == ')' || c == '&':
			i++
		case c == ' ' && s.goesOn(i+1):
			i++
		default:
			return s.trimPath(start, s.trimBrackets(start, i))
		}
	}
	return s.trimPath(start, s.trimBrackets(start, i))
}

func (s *scanner) trimBrackets(start, end int) int {
	for end > start+1 && s.text[end-1] == ')' && !strings.Contains(s.text[start:end], "(") {
		end--
	}
	return end
}

// goesOn reports whether a path with a space goes on behind it.
func (s *scanner) goesOn(i int) bool {
	for limit := min(len(s.text), i+32); i < limit; i++ {
		c := s.text[i]
		if c == '\\' {
			return s.text[i-1] != ' '
		}
		if !pathChar(c) && c != ' ' && c != '(' && c != ')' {
			return false
		}
	}
	return false
}
