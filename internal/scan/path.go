package scan

import "strings"

// path reads a token that begins with /, ~, . or ..: the path of a file or of a
// request.
func (s *scanner) path(i int) (int, Kind) {
	if !s.mayBegin(i) {
		return i, Path
	}
	j := i
	for j < i+2 && (s.at(j) == '.' || s.at(j) == '~') {
		j++
	}
	relative := j > i
	if s.at(i) == '~' && j == i+1 { // ~user
		for j < i+34 && (s.is(j)&(cLower|cDigit|cJoin) != 0 || s.at(j) == '.' && j > i+1) {
			j++
		}
	}
	if s.slash(j) == 0 {
		return i, Path
	}
	if end := s.quotedPath(i); end > i {
		return end, Path
	}
	segments, first := 0, ""
	for n := s.slash(j); n > 0 && pathChar(s.at(j+n)); n = s.slash(j) {
		from := j + n
		j = s.segmentEnd(from)
		if segments++; segments == 1 {
			first = s.text[from:j]
		}
	}
	if segments > 0 {
		j += s.slash(j)
	}
	end := s.trimPath(i, j)
	switch {
	case !relative && segments == 2 && remoteMethod(first, s.text[i:end]):
		return end, URL
	case !relative && segments > 0 && s.isRequest(first):
		return max(end, s.trimURL(i, s.urlChars(end))), URL
	case relative && segments > 0, segments > 1:
		return end, Path
	case segments == 1 && (isRoot(first) || hasExtension(s.text[i:end])):
		return end, Path
	}
	return i, Path
}

// slash returns the length of the path separator at i, or 0. The separator may be escaped, as
// in JSON.
func (s *scanner) slash(i int) int {
	switch {
	case s.at(i) == '/':
		return 1
	case s.at(i) == '\\' && s.at(i+1) == '/':
		return 2
	}
	return 0
}

// segmentEnd returns the end of a part of a path. The part may contain spaces that are escaped
// for a shell.
func (s *scanner) segmentEnd(i int) int {
	for {
		switch c := s.at(i); {
		case pathChar(c):
			i++
		case c == '\\' && s.at(i+1) == ' ' && !s.keyAt(i+2):
			i += 2
		default:
			return i
		}
	}
}

// keyAt reports whether the name of a secret is at i.
func (s *scanner) keyAt(i int) bool {
	j := i
	for j < i+48 && s.is(j)&(cAlnum|cJoin) != 0 {
		j++
	}
	return strengthOf(s.text[i:max(i, min(j, len(s.text)))]) != noKey || s.at(j) == ':' && strings.IndexByte(s.text[j:s.chunkTo(j)], '@') > 0
}

func (s *scanner) chunkTo(i int) int {
	for limit := i + 64; i < limit && i < len(s.text) && classOf[s.text[i]]&cBlank == 0; i++ {
	}
	return i
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

// mayBegin reports whether a path may begin at i: after white space, a bracket, a
// quote, or an option such as -I.
func (s *scanner) mayBegin(i int) bool {
	if i == s.base {
		return true
	}
	c := s.text[i-1]
	if classOf[c]&(cBlank|cHigh) != 0 || !s.glued {
		return true
	}
	if classOf[c]&cLetter != 0 {
		return i > s.base+1 && s.text[i-2] == '-' && (i < s.base+3 || classOf[s.text[i-3]]&cBlank != 0)
	}
	return strings.IndexByte("\"'`([{=:,|;@>!&", c) >= 0
}

// quotedPath returns the end of a path in quotes, which may contain spaces.
func (s *scanner) quotedPath(i int) int {
	if i == s.base || !isQuote(s.text[i-1]) {
		return i
	}
	n := strings.IndexByte(s.text[i:min(len(s.text), i+256)], s.text[i-1])
	if n < 0 {
		return i
	}
	quoted := s.text[i : i+n]
	if !strings.Contains(quoted, " ") || strings.Count(quoted, "/") < 2 || strings.ContainsAny(quoted, ":,;\n=") {
		return i
	}
	return i + n
}

// remoteMethod reports whether a path is the name of a method of gRPC: /package.Service/Method.
func remoteMethod(service, path string) bool {
	name := service[strings.LastIndexByte(service, '.')+1:]
	method := path[strings.LastIndexByte(path, '/')+1:]
	return len(name) < len(service) && name != "" && method != "" && classOf[name[0]]&cUpper != 0 && classOf[method[0]]&cUpper != 0 &&
		strings.IndexByte(method, '.') < 0
}

// isRequest reports whether a path is the path of an HTTP request: it follows a
// method, or its first part is typical for APIs.
func (s *scanner) isRequest(first string) bool {
	switch first {
	case "api", "graphql", "rest", "oauth", "oauth2", "rpc":
		return true
	}
	if len(first) > 1 && len(first) < 4 && first[0] == 'v' && isDigit(first[1]) {
		return true
	}
	n := len(s.dst)
	if n > 1 && s.dst[n-1].Kind == Punct {
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

// relPath finds a relative path whose last part has the extension of a file.
func (s *scanner) relPath(i int) int {
	if i < s.noRelPath {
		return i
	}
	j, slash, dot := i, -1, -1
	for ; ; j++ {
		c := s.at(j)
		if c == '/' {
			slash = j
		} else if c == '.' {
			dot = j
		} else if !pathChar(c) {
			break
		}
	}
	s.noRelPath = j
	end := s.trimPath(i, j)
	for dot >= end {
		dot = strings.LastIndexByte(s.text[i:end], '.')
		if dot < 0 {
			return i
		}
		dot += i
	}
	if slash < 0 || dot < slash || !isExtension(s.text[dot+1:end]) || s.hostAt(i) {
		return i
	}
	return end
}

// hostAt reports whether the text up to the next '/' is a host.
func (s *scanner) hostAt(i int) bool {
	first := s.text[i : i+strings.IndexByte(s.text[i:], '/')]
	dot := strings.LastIndexByte(first, '.')
	return first == localhost || dot > 0 && isDomain(first[dot+1:], strings.Count(first, ".")+1) && !isExtension(first[dot+1:])
}

func hasExtension(path string) bool {
	dot := strings.LastIndexByte(path, '.')
	return dot >= 0 && isExtension(path[dot+1:])
}

// isExtension reports whether a label is the extension of a file.
func isExtension(label string) bool {
	var b [11]byte
	if len(label) > len(b) {
		return false
	}
	for i := range len(label) {
		b[i] = lower(label[i])
	}
	switch string(b[:len(label)]) {
	case "go", "py", "js", "mjs", "cjs", "ts", "tsx", "jsx", "java", "rb", "php", "rs", "c", "cc", "cpp", "h", "hpp", "cs", "kt",
		"scala", "ex", "exs", "erl", "lua", "pl", "sh", "bash", "swift", "sql", "vue", "html", "htm", "css", "scss",
		"mp4", "mov", "mkv", "webm", "avi", "m4a", "m4v", "mp3", "wav", "flac", "ogg", "opus", "aac", "m3u8", "mpd",
		"srt", "vtt", "jpg", "jpeg", "png", "gif", "webp", "heic", "tif", "tiff", "bmp", "svg", "ico", "avif", "psd",
		"pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "rtf", "txt", "csv", "tsv", "md", "epub",
		"json", "jsonl", "ndjson", "yaml", "yml", "toml", "ini", "cfg", "conf", "xml", "env", "lock", "log",
		"tmp", "bak", "swp", "zip", "tar", "gz", "tgz", "bz2", "xz", "zst", "7z", "rar", "jar", "war", "whl",
		"exe", "dll", "so", "dylib", "bin", "dat", "db", "sqlite", "sqlite3", "parquet", "avro", "pem", "crt", "cer", "p12", "pfx",
		"sock", "pid", "wasm", "iso", "img", "onnx", "safetensors", "ttf", "woff", "woff2":
		return true
	}
	return false
}

// variablePath reads a path such as %APPDATA%\app.
func (s *scanner) variablePath(i int) int {
	j := i + 1
	for j < i+32 && s.is(j)&(cAlnum|cJoin) != 0 {
		j++
	}
	if j < i+3 || s.at(j) != '%' || s.at(j+1) != '\\' || s.is(j+2)&cAlnum == 0 {
		return i
	}
	return s.backslashed(i, j+1)
}

// windowsPath reads a path such as C:\… or C:/….
func (s *scanner) windowsPath(i int) int {
	if classOf[s.text[i]]&cLetter == 0 || s.at(i+1) != ':' || s.at(i+2) != '\\' && s.at(i+2) != '/' {
		return i
	}
	if s.at(i+2) == '\\' && !pathChar(s.at(i+3)) && s.at(i+3) != '\\' || s.at(i+2) == '/' && !pathChar(s.at(i+3)) {
		return i
	}
	return s.backslashed(i, i+2)
}

// uncPath reads a path such as \\server\share.
func (s *scanner) uncPath(i int) int {
	j := i
	for j < i+5 && s.at(j) == '\\' {
		j++
	}
	if j != i+2 && j != i+4 || s.is(j)&cAlnum == 0 {
		return i
	}
	k := j
	for s.is(k)&(cAlnum|cDot|cJoin) != 0 || s.at(k) == '$' {
		k++
	}
	if s.at(k) != '\\' || k < j+2 {
		return i
	}
	return s.backslashed(i, k)
}

func (s *scanner) backslashed(start, i int) int {
	open := 0
loop:
	for i < len(s.text) {
		switch c := s.text[i]; {
		case c == '(':
			open++
		case c == ')':
			if open--; open < 0 {
				break loop
			}
		case c == ' ' && !s.goesOn(i+1):
			break loop
		case c != ' ' && c != '&' && c != '\\' && c != '/' && !pathChar(c):
			break loop
		}
		i++
	}
	return s.trimPath(start, i)
}

// goesOn reports whether the path continues after the space at i.
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
