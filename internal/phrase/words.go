package phrase

// synonym is a meaning and the rows of words for it, one a line. A phrase that
// says the name, or a row of its forms, finds all of them. {name} stands for the
// forms of one above.
type synonym struct{ name, forms string }

var synonyms = []synonym{
	{"not", `(not|never|isnt|arent|wasnt|werent|doesnt|dont|didnt|hasnt|havent|hadnt|mustnt|shouldnt|aint)
		(isnt|arent|wasnt|werent|hasnt|havent|not) (been|be|yet)
		(is|are|was|were|be|been|being|has|have|had|do|does|did|must|should|may|shall|need) (not|never) (been|be|yet)?
		(cannot|cant|can not|couldnt|could not) be`},
	{"cannot", `(cannot|cant|can not|couldnt|could not|wont|will not|wouldnt|would not)
		(unable|inability) to
		(fail|failed|fails|failing|failure) to
		{not} able to
		not possible to`},
	{"must", `(must|should|shall)
		(ought|has|have|needs|need) to`},
	{"timeout", `(timeout|timedout)
		(timed|times|timing|time) out`},
	{"larger", `(larger|greater|more|bigger|longer|higher|heavier|wider|taller|deeper) than`},
	{"exceed", `(exceed|exceeds|exceeded|exceeding|surpass|surpassed|exceedance)
		in excess of
		(go|goes|went) over`},
	{"ratelimit", `(ratelimit|ratelimiting|ratelimiter)
		rate (limit|limiter|limiting)`},
	{"invalid", `(invalid|illegal|malformed)
		{not} (a|an)? (valid|legal)
		ill formed`},
	{"unsupported", `unsupported
		{not} (currently|yet)? support`},
	{"unknown", `(unknown|unrecognized|unrecognised)
		{not} (recognized|recognised|known)`},
	{"unavailable", `unavailable
		{not} (currently|yet)? available`},
	{"unreachable", `unreachable
		{not} reachable
		{cannot} (be)? (reach|reached)
		{not} (reach|reached)`},
	{"missing", `(missing|absent)
		{not} (provided|specified|given|supplied|present|passed)`},
	{"notallowed", `(notallowed|disallowed|prohibited|impermissible)
		{not} (allowed|permitted|allow|permit)`},
	{"unauthorized", `(unauthorized|unauthorised)
		{not} (authorized|authorised)`},
	{"unauthenticated", `unauthenticated
		{not} authenticated`},
	{"insufficient", `(insufficient|inadequate)
		{not} (have|has)? (enough|sufficient)
		too little`},
	{"noexist", `(noexist|nonexistent|nonexisting)
		(non|no) (existent|existing)
		{not} (actually|already)? exist`},
	{"notfound", `notfound
		{not} found
		{cannot} (find|locate)
		{not} (find|located)`},
	{"empty", `(empty|blank|null|nil)`},
}

// UnitNanos are the units of time that texts use, in nanoseconds.
var UnitNanos = map[string]int64{
	"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "msec": 1e6, "msecs": 1e6, "millis": 1e6, "millisecond": 1e6, "milliseconds": 1e6,
	"s": 1e9, "sec": 1e9, "secs": 1e9, "second": 1e9, "seconds": 1e9,
	"m": 60e9, "min": 60e9, "mins": 60e9, "minute": 60e9, "minutes": 60e9,
	"h": 3600e9, "hr": 3600e9, "hrs": 3600e9, "hour": 3600e9, "hours": 3600e9,
	"d": 86400e9, "day": 86400e9, "days": 86400e9, "week": 7 * 86400e9, "weeks": 7 * 86400e9,
	"month": 30 * 86400e9, "months": 30 * 86400e9,
	"sekunden": 1e9, "secondes": 1e9, "segundos": 1e9, "secondi": 1e9, "segundo": 1e9,
	"minuten": 60e9, "minutos": 60e9, "minuti": 60e9, "stunden": 3600e9, "heures": 3600e9, "horas": 3600e9,
	"秒": 1e9, "分": 60e9, "分钟": 60e9,
}

// sizeUnits are the units of bytes and the like.
var sizeUnits = map[string]bool{
	"b": true, "byte": true, "bytes": true, "k": true, "kb": true, "kib": true, "mb": true, "mib": true,
	"gb": true, "gib": true, "g": true, "tb": true, "tib": true, "kbyte": true, "mbyte": true, "gbyte": true,
	"kilobytes": true, "megabytes": true, "gigabytes": true, "megapixels": true, "mp": true, "kbytes": true, "mbytes": true,
}
