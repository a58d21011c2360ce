package failure

// notFoundRules are about what does not exist.
var notFoundRules = []rule{
	{id: "notfound.named", class: NotFound, weight: wStatus + 1, trait: identifiers, phrases: `
		E404
		ETARGET
		NoSuchKey
		NoSuchBucket
		NoSuchUpload
		NoSuchVersion
		NoSuchEntity
		NoSuchEntityException
		NoSuchHostedZone
		NoSuchLifecycleConfiguration
		BlobNotFound
		ContainerNotFound
		ResourceNotFound
		ResourceNotFoundException
		EntityNotFoundException
		EntityDoesNotExist
		ItemNotFound
		ObjectNotFound
		NotFoundException
		NotFoundError
		FileNotFound
		FileNotFoundError
		FileNotFoundException
		NoSuchFile
		NoSuchFileException
		RecordNotFound
		DocumentNotFound
		UserNotFound
		QueueDoesNotExist
		NonExistentQueue
		TopicNotFound
		StreamNotFound
		FunctionNotFound
		ModelNotFound
		IndexNotFound
		index not found exception
		TableNotFoundException
		ParameterNotFound
		RepositoryNotFound
		ImageNotFound
		ManifestUnknown
		NameUnknown
		BlobUnknown
		PageNotFound
		RouteNotFound
		SubscriptionNotFound
		DeploymentNotFound
		ThreadNotFound
		ChatNotFound
		ChannelNotFound
		MessageNotFound
		VideoNotFound
		PlaylistNotFound
		SecretNotFound
		KeyNotFound
		resource missing
		ENOENT
		ENOTDIR
		ENODEV
		ENXIO
		ESRCH`},
	{id: "notfound.thing", class: NotFound, weight: wSaid + 2, trait: identifiers, phrases: `
		no such (file|directory|file or directory|key|bucket|object|table|index|record|user|entity|container|image|job|task|queue|topic|branch|ref|commit|document|collection|model|resource|device|process|item|version|service|repository|project|channel|group|member|account|stream|function|database|column|relation|view|package|module|path|volume|network|node|order|customer|subscription|invoice|price|coupon|payment|plan|tag|snapshot|secret|file exists|id|entry|element|property|page|site|route|alias|instance|cluster|vm|upload|pod|namespace|template|policy|role|schema|command|program|sandbox|session|address|mailbox|recipient|person|label|partition|consumer|exchange|vhost|thread|playlist|video|entity exists|media|part|card|token|app|worker|schedule|workflow|run|execution|activity) !(operation)
		no such (thing|<value>)
		(file|files|directory|folder|path|key|bucket|object|table|index|record|row|user|entity|container|image|job|task|queue|topic|branch|ref|commit|document|collection|model|resource|device|item|version|repository|project|channel|group|member|account|stream|function|database|relation|view|package|module|volume|page|url|link|site|order|customer|subscription|invoice|video|media|playlist|episode|asset|clip|track|album|photo|post|comment|message|chat|thread|template|product|sku|ticket|event|session|webhook|endpoint|route|blob|snapshot|secret|parameter|entry|element|recipient|address|mailbox|number|phone number|domain|zone|namespace|deployment|pod|artifact|dataset|file id|file_id|attachment|campaign|contact|list|form|board|card|issue|release|workflow|pipeline|run|build|environment|policy|role|source|target|input|input file|destination|consumer group|exchange|partition|command|executable|program|binary|library|plugin|extension|interpreter|font|codec|data file|checkpoint|weights|tokenizer|config|configuration|config file|credentials file|key file|certificate file|node|instance|cluster|vm|network|subnet|vpc|disk|image tag|manifest|tag|layer|id|upload|part|voice|avatar|speaker|language|locale|owner|organization|team|workspace|tenant|company|place|location|city|country|airport|flight|booking|reservation|payment|charge|refund|transaction|transfer|wallet|coin|symbol|token id|invite|guild|server|emoji|sticker|role id|webhook id|interaction|application|app|bot|asset id|project id|operation|entity|reference|object id|variant|variation|collection id|block|page id|property) ...3 (notfound|noexist)
		(notfound|noexist) (in|on|at|for|within) <any>
		(resource|object|entity|page|item|record|file|document|content|it|one|key|path|user|video|url|requested|specified|model|that|<path>|<id>|<url>|<number>) (is|was|does|could|has|can|may|might)? (notfound|noexist)
		(item|record|object|resource|page|file|content|video|post|entity|message|document|account|user|job|it) (has|have|was|is|had)? (been)? (already)? (permanently)? (deleted|removed|gone|purged|erased|archived|taken down|unpublished)
		(requested|specified|given|referenced|target|named) ...4 (notfound|noexist|does not exist)
		(cannot|could not|unable to|failed to) (find|locate) ...3 (file|module|package|object|record|user|table|model|path|resource|key|page|column|image|video|repository|directory|command|program|binary|executable|library|class|method|route|template|index|element)
		(notfound|not found) !(handler|page template|limit)
		noexist
		no (record|records|row|rows|document|documents|result|results|match|matches|object|user|users|file|files|item|items|entry|data|job|model|images|message|messages|video|account|matching) (was|were|are|is|could be)? (found|exists|exist|matching|matches|matched|for|with|in the result|in result)
		(matches|matched|returned|found) (no|zero|0) (rows|records|documents|results|files|objects|items)
		returned no (rows|records|results)
		(query|result|response) (returned|has|contains) (no|zero) (rows|results|records)
		(does not|did not) match any (file|files|record|records|document|object|route|routes)
		does not appear to be a (git)? repository
		repository notfound
		(no longer|not) (exists|available on this server)
		is gone
		410 gone
		404 not found
		unknown (message|channel|guild|user|member|role|emoji|webhook|interaction|application|account|integration|invite|overwrite|ban|sku|entitlement|topic|topic or partition|table|database|repository|blob|manifest|tag|image|model|job|task|index|collection|bucket|key|object|service|recipient|mailbox|customer|object id|order|project|resource|entity|file|file id|branch|revision|session|queue|exchange|consumer|member id|producer id|subscriber|device|container|image id|network|workflow|namespace|cluster|node|stream|function|server storage engine|group|video|user id|peer|chat|address)
		(user|recipient|mailbox|account|address|email) unknown
		(dangling|broken|dead) (link|symlink|reference)
		could find no file`},
	{id: "notfound.program", class: NotFound, weight: wStatus + 4, trait: identifiers, phrases: `
		command not found
		executable (file)? not found
		(file|program|binary|executable|command|interpreter|tool|library) ...3 not found in (path|system path|your path)
		not found in (path|system path)
		not recognized as an internal or external command
		(cannot|could not) find (the)? (program|executable|binary|command|ffmpeg|ffprobe|interpreter)
		bad interpreter
		(is|are|was)? not installed
		(please|is it|you need to|must|should) install(ed)?
		shared (object|library|libraries) ...4 (no such file|cannot open|not found)
		error while loading shared libraries
		(module|package) (not found|cannot be found|could not be found|is missing|not installed)
		ModuleNotFoundError
		no module named
		cannot find (module|package)
		err module not found
		MODULE NOT FOUND
		ClassNotFoundException
		NoClassDefFoundError
		(class|library|dll|driver|plugin|gem|dependency) ...2 (not found|could not be found|not installed|missing)
		DllNotFoundException
		cannot load such file
		unable to load (shared)? (library|dll|module)
		ImportError
		(cannot|could not) import
		exec (format|<any>) ...2 not found
		language data
		failed loading language`},
	{id: "notfound.word", class: NotFound, weight: wWeak + 8, phrases: `
		(notfound|noexist)
		no such
		(deleted|vanished) !(by user request)
		gone`},
}

// limitRules are about input that is larger than allowed.
var limitRules = []rule{
	{id: "limit.large", class: InputExceedsLimits, weight: wDecides + 2, trait: identifiers, phrases: `
		SQLITE TOOBIG
		ER (DATA TOO LONG|NET PACKET TOO LARGE|TOO BIG ROWSIZE)
		(request|message|payload|prompt|entity|packet|batch|header|headers|document|upload|attachment|request body|http body|response|input|input document|query|event|email|uri|url|context|transaction|item|record|file|image|video|audio|object|body|string|value|content|row|key|argument list|file name|filename|text|data) (size|length|body|entity|uri|url|header|fields|header fields|content|payload)? (is|was|are|were)? (way|far|much)? (too|to) (large|big|long|huge)
		(too (large|big|long)) (for|to) ...3 (model|context|packet|process|upload|index|column|buffer|request|field|be)
		(request|payload) (entity)? too large
		RequestEntityTooLarge
		PayloadTooLarge
		ContentTooLarge
		MessageTooLarge
		RequestTooLarge
		request_too_large
		RequestBodyTooLarge
		EntityTooLarge
		MessageTooLong
		FileTooLarge
		InputTooLong
		UriTooLong
		MetadataTooLarge
		KeyTooLong
		RequestHeaderSectionTooLarge
		MaxMessageSizeExceeded
		RECORD TOO LARGE
		MESSAGE TOO LARGE
		RECORD LIST TOO LARGE
		EFBIG
		EMSGSIZE
		E2BIG
		ENAMETOOLONG
		MAX ALLOWED PACKET
		BatchRequestTooLong
		InvalidParameterValueTooLong
		context length exceeded
		context_length_exceeded
		string above max length
		array above max length
		(maximum|max) context length
		context (window|length) ...4 (exceed|limit|full|overflow|reached|is)
		(exceed|beyond|over|larger) ...4 (context|input) ...2 (length|window|size)
		(prompt|input|message|messages|conversation|text|document) (tokens)? ...3 exceed ...5 (tokens|token|context|window|maximum|length)
		(input|prompt|total|output) (tokens|token count) ...4 (exceed|larger|over|above)
		(received)? message larger than max
		message length too large
		trying to send message larger
		decompression bomb
		maxContentLength size
		maxcontentlength size
		maxBodyLength
		maxbodylength
		WORKER TOO LARGE
		413 (request|payload|content|entity)
		limit (file size|field count|part count)
		file size limit
		(request|message|payload|body|upload|file|attachment|entity|packet|object|batch|document|email) size ...3 (exceed|larger|over|above|greater)
		(request|message|payload|body|upload|file|attachment|entity|packet|object|batch|document|email|image|video|audio) ...3 (exceed|exceeding|larger|over) ...3 (maximum|max|allowed|permitted|size limit|upload limit|byte limit|<size>)`},
	{id: "limit.size", class: InputExceedsLimits, weight: wStrong + 1, trait: identifiers, phrases: `
		(reduce|shorten) (the|your) (length|size|prompt|input|message|messages|resolution|file|image|context|payload) !(rate)
		large (file|files|object|objects|message|attachment) (detected|found|not)
		!(pool|memory|heap|queue|batch|backlog) (size|length|duration|width|height|resolution|dimensions|dimension|bitrate|depth|aspect ratio|area|pixels|pixel count|bytes|filesize|page count|sample rate|megapixels|string length|recursion depth|frames) ...4 (exceed|larger|over|above|beyond) ...4 (limit|limits|maximum|max|allowed|<number>|permitted|supported|<size>)
		(exceed|over|beyond|above|larger|past|than) ...3 (maximum|max|allowed|upload|permitted|allowable|the) ...2 (size|length|duration|dimensions|dimension|resolution|width|height|bytes|file size|pixels|depth|characters|body|payload|filesize|entity|page count|packet|message size|sizes)
		(maximum|max|permitted|upload|allowable|body|largest|allowed) ...2 (size|length|duration|dimensions|resolution|filesize|file size|payload|message size|packet|entity|bytes) ...3 (exceed|reached|violated|allowed|<size>|supported|permitted)
		exceed ...3 (size|length|duration|dimension|resolution|width|height) !(timeout)
		(over|exceed|larger|above|beyond) <number> (hours|gb|mb|kb|gib|mib|bytes|characters|chars|pages|tokens|pixels|megapixels|words|px|rows|lines|frames|tb|items|files|images|minutes long)
		(over|exceed|larger|above|beyond) <size>
		<number> (bytes|tokens|pixels|characters|pages|px|mb|gb|kb|words|chars) (is|are)? ...2 (larger|exceed|over|above)
		<size> (is|are)? ...2 (larger|exceed|over|above)
		(only|at most|up to|no more than|maximum of|max of|not larger|limited to|limit is|limit of|maximum is|must be under|must be below|fewer than|max is|must be less than|must be smaller than|no larger than|no longer than|not exceed) <number> (px|mb|kb|gb|bytes|characters|chars|pages|tokens|pixels|megapixels|elements|hours|files|images|words|recipients|megabytes|entries|rows|records|inputs|messages|mib|attachments|items|keys|values|objects)
		(only|at most|up to|no more than|maximum of|no larger than|not exceed|limited to|limit of) <size>
		(limit|maximum|max|allowed) <size>
		(limit|maximum) of <number> (characters|bytes|tokens|pages|items|files|images|mb|kb|gb|pixels|rows|columns|fields|elements|messages|recipients|entries|keys|documents|words|px)
		(exceeds|exceeded|over) (the)? (maximum|max) (allowed|allowable|permitted|supported)
		exceeds (the)? (allowed|available|maximum|permitted) ...3 (size|length|number)
		at most ...3 (allowed|permitted|supported|accepted)
		(string|blob|row|value|data|text|name|identifier|key|argument list|file name|filename|path|url|index row|tuple|index entry|string literal|line|header line|word|packet) (is|was)? (or blob)? too (long|big|large|wide)
		data too long
		value too long
		packet (bigger|larger)
		(row|index row|key|entry) size ...5 (exceed|larger|maximum)
		(request|response|body|content|file|message) (size|length) (limit|exceeded)
		(video|audio|clip|recording|track|file|media|song) (duration|length)? (is)? (too long|longer than|over)
		(attachment|attachments|file|photo|message|upload|image|video|audio) (is|are)? (larger|oversized|bigger)
		(resolution|bitrate|dimension|dimensions|image|picture|frame) ...2 (too (large|high|big))`},
	{id: "limit.count", class: InputExceedsLimits, weight: wStatus + 4, trait: identifiers, phrases: `
		(too|so) many (tokens|characters|pages|images|files|items|recipients|clips|rows|columns|fields|parameters|arguments|variables|inputs|entries|records|objects|statements|values|elements|documents|words|attachments|parts|labels|tags|keys|frames|bytes|levels|terms|options|headers|tools|functions|choices|segments|tables|indexes|line items|entities|embeds|mentions|hashtags|participants|urls|links|keywords|filters|conditions|joins|nested|bind variables|placeholders|sources|tracks|images in|lines|properties|messages in|dimensions|buckets|clauses|boolean clauses|sub queries) !(per|this minute)
		(number|count|total) of ...3 (exceed|larger|over|above|must not exceed) !(attempts|retries|requests|connections|clients|errors|redirects)
		(maximum|max) (number of) (tokens|characters|pages|images|files|items|recipients|rows|columns|fields|parameters|arguments|elements|documents|records|entries|keys|values|bytes) ...4 (exceed|reached|allowed|is|per)
		<number> (is)? (larger|exceed) ...2 <number>
		<number> is over <number>`},
	{id: "limit.word", class: InputExceedsLimits, weight: wSaid - 4, phrases: `
		too (large|big|long|wide|deep|heavy)
		too many !(requests|connections|open|attempts|clients|files open|retries|redirects|redirections|users|sessions|concurrent|errors|failures|pings|times|simultaneous|active|calls|logins|pending|processes)
		!(retries|attempts|tries|time|deadline|timeout|redirects|retry|requests|rate|quota|calls) (larger|exceed) ...4 (limit|maximum|max|allowed|<number>|permitted|bound|threshold) !(of|retries|attempts|number)
		(maximum|max) (allowed|size|length|of|width|height|value|bytes|count)? exceed
		at most <number>
		(maximum|max) (size|length|allowed)
		oversized`},
	{id: "limit.short", class: InvalidInput, weight: wSaid, phrases: `
		too (small|short|few|low|narrow|tiny|early|old|young|recent|blurry|dark|noisy|close|similar|far|late to|weak|simple|common)
		(below|under|less than|smaller than|shorter than|lower than|fewer than|at least) (the)? (minimum|min|required|allowed|<number>)
		(minimum|min) (size|length|duration|dimensions|number|width|height|amount|value|order) (is|of|not|required|must)`},
}

// inputRules are about inputs that are broken, private, gone or of a kind that
// nobody can read.
var inputRules = []rule{
	{id: "input.private", class: InvalidInput, weight: wStrong + 4, trait: identifiers, phrases: `
		(video|clip|content|post|playlist|channel|account|file|album|item|media|page|episode|track|tweet|photo|profile|recording|stream|document|it|this|repository) (is|are|was|has been) (set to)? (now)? (private|protected|unlisted|age restricted|geo restricted|geo blocked|members only|draft)
		private (video|clip|content|playlist|account|media|album|file|post|profile|track)
		(post|it|this) (is|was|are|were|has|has been|is no longer|no longer) (unavailable|deleted|removed|taken down|not public|no longer public|gone|not processed|expired|blocked)
		(video|content|media|clip|episode|stream|track|file|recording|livestream|playlist) ...2 (deleted|removed)
		(video|content|media|clip|episode|stream|track|file|recording|livestream|playlist|it|this) ...2 (unavailable|taken down|not public|no longer public|gone|not processed|expired|blocked)
		(video|content|media|clip|this) (is|are)? (unavailable|blocked|restricted|not available) (in|for|on|from) (your|this|the) (country|region|location|territory|area)
		(age|geo|region|country) (restricted|restriction|restrictions|blocked|locked|gated|verification)
		(removed|deleted|taken down|withdrawn) by (the)? (uploader|user|owner|author|creator|poster|publisher)
		(uploader|owner|author|creator) (has)? (not made|removed|deleted|closed|made this)
		(members|subscribers|premium|patrons|friends|followers) only
		premieres (in|at)
		live event (will|has|ended|is)
		(drm|encrypted|password) (protected|protection|protect)
		(file|document|pdf|archive|zip|workbook) (is)? (encrypted|password protected|locked)
		(is|are) (drm)? protected by (drm|password|a password)
		requested (format|quality|content|video|language|subtitle) (is)? unavailable
		video unavailable`},
	{id: "input.broken", class: InvalidInput, weight: wStatus + 4, trait: identifiers, phrases: `
		SQLITE (CORRUPT|NOTADB)
		(not|no) ...1 detected !(within)
		(signature|rsa|integrity|hash|checksum|package) verification (error|failed)
		verification (error|failed)
		sha256 mismatch
		content sha256mismatch
		(file|image|video|audio|data|input|archive|document|stream|pdf|jpeg|png|gif|zip|gzip|zlib|header|payload|content|media|page|frame|packet|container|footer|block|object|record|body|upload|track|bitstream|index|checksum|trailer|signature|font|database|segment|chunk|parquet|avro|message|bundle|tar|workbook|spreadsheet|metadata|sample|table|disk image|package|layer) (is|was|are|were|appears|appears to be|may be|seems|seems to be|might be|looks|has been)? (possibly|either)? (corrupt|corrupted|damaged|broken|truncated|malformed|unreadable|undecodable|garbled|incomplete|invalid|not valid|empty|not a valid|missing|unusable|not readable|inconsistent)
		(corrupt|corrupted|damaged|broken|truncated|malformed|unreadable|garbled|bogus|bad|incomplete) ...2 (file|image|video|audio|data|input|archive|document|stream|pdf|jpeg|png|gif|zip|gzip|zlib|header|payload|content|media|frame|packet|container|block|object|record|index|footer|bitstream|deflate|checksum|magic|segment|message|xref|marker|huffman|chunk|entry|ogg|mp3|mp4|font|metadata|trailer|compressed|input data|upload|central directory|database|page)
		(invalid|bad|wrong|unknown|unexpected|missing|incorrect|unsupported|unrecognized|no) (file|image|video|audio|media|document|archive|magic|file type|container|codec|jpeg|png|pdf|zip|gzip|signature|stream|pixel|sample|color|colour|mime|mime type|content type|media type|encoding|charset|compression|bitstream|encoder|decoder|input|input data|input file|image data|file format|data found|header|file header|frame|chunk|block type|distance|bit length|central directory|format|format specified|source|resolution|dimensions|aspect|track|extension|file extension|image format|audio format|video format|input format|image type|subtitle|color space|colorspace|bit depth|sample rate|base64|data url|data uri|upload|profile|marker|moov|crc|checksum|compression method|end of file|utf 8|byte order mark|unicode|multibyte|byte sequence|escape sequence|encoding for|locale|language|voice|country code|barcode|qr code|audio file|content encoding|xref|version number|endian|font) !(in request|is a directory)
		not (in)? (a|an)? (valid|supported|recognized|readable|known|proper|real|decodable|well formed|playable)? (image|video|audio|media|pdf|zip|gzip|jpeg|png|archive|tar|mp3|mp4|wav|file|format|decodable|readable|playable|gzipped|bzip2|xlsx|docx|text file|utf 8|dynamic executable|zip file|csv|spreadsheet|audio file|video file|image file|pdf file) !(format request|found)
		(cannot|error|failure|errors) (while|when)? (decode|decoding|identify|demux|transcode|decompress|unzip|extract|inflate|uncompress|unpack|recognize|render|parse|determine|detect|transcribe|interpret|thumbnail|resize) ...3 (image|video|audio|media|file|pdf|frame|stream|archive|format|document|data|header|page|picture|codec|subtitle|track|bitmap|zip|gzip|thumbnail|content|font|type|duration|dimensions|mime|metadata|samples|packet)
		(cannot|could not) (identify|decode|decompress|transcode|demux|unzip)
		error (while)? (decoding|demuxing|splitting|parsing|reading header|opening (filters|encoder|decoder)|initializing (filter|complex|output|filters|encoder|decoder))
		(decode|decoding|demuxing|demux|transcoding|transcode|decompression|encoding|unzip) (error|failed|failure) !(conversion failed)
		(unknown|unsupported|unidentified|unhandled|undetermined) ...2 (format|codec|container|encoding|image type|file type|media type|content type|mime|encoder|decoder|filter|bitstream|compression|profile|color space|extension|demuxer|muxer|protocol|scheme|charset|file|document|delegate|language|voice|sample format|pixel format|feature)
		(format|codec|container|file type|media type|content type|mime type|protocol|scheme|encoding|extension|file format|image type|document|language|compression|sample rate|resolution|color space|pixel format|audio|image|file|type|document format|charset|version|url|codec id) ...2 (is|are|was)? (unsupported|unknown|not recognized|unrecognized|not recognised|not accepted|not decodable|not enabled|not compiled)
		(cannot|could not|unable to) (find|read|determine|detect) ...2 (codec|stream|duration|format|audio|video|dimensions|header|frame|keyframe|sync)
		(no|missing|zero|without|lacks|contains no|0|not any) (audio|video|usable|valid|decodable|media|image|speech|text|face|faces|frames|streams|tracks|subtitle|readable|playable) (stream|streams|track|tracks|data|frames|detected|found|content|channel|input|samples|layer)?
		(has|have|contains|with|found|detected) no ...2 (audio|video|speech|text|face|faces|frames|stream|streams|tracks|pages|images|content|samples|subtitles)
		(output|input) file (is empty|does not contain|contains no|nothing was)
		does not contain any (stream|streams|data|audio|video|frames|text|images|pages)
		matches no streams
		moov atom
		invalid data found
		(invalid|bad|no) (nal|sps|pps|vps|sync|start code)
		(non existing|missing) (pps|sps)
		(missing|no) (end of image|eoi|eocd|end of central directory|iend)
		premature end of (jpeg|file|image|data|input)
		(zip|archive|gzip|tar|bzip2|zlib|jpeg|png|pdf|flate|xz|zstd|lz4|brotli|snappy) (error|invalid|bad|end of|corrupt|unexpected|incorrect|checksum|not a)
		incorrect (header check|data check|length check|crc)
		(crc|checksum|md5|sha|sha1|sha256|hash|digest|etag|signature of|content md5|integrity|size|length) ...3 (mismatch|not match|failed|error|incorrect|differ|differs|different|verification failed|invalid|check failed)
		BadDigest
		InvalidDigest
		Md5Mismatch
		content sha256 mismatch
		BadZipFile
		UnidentifiedImageError
		cannot identify image
		bad (magic|crc|checksum|header|zip|file)
		(unexpected|premature|early) end of (file|data|input|archive|image|header) !(json|from)
		unexpected eof in (archive|file)
		(error|eof) in archive
		not in gzip format
		EBADMSG
		EILSEQ
		ENOEXEC
		exec format error
		cannot execute binary
		no decode delegate
		no (images|pages) defined
		improper image header
		insufficient image data
		(pixel|scanline) ...2 (error|missing)
		not all tiles
		syntax error in pdf
		(xref|trailer|startxref) ...2 (not found|missing|broken)
		couldnt (find|read) (trailer|xref)
		database disk image is malformed
		(input|link|output) ...5 (do not match|mismatch) the corresponding
		truncated`},
	{id: "input.cannot", class: InvalidInput, weight: wSaid - 4, phrases: `
		(cannot|error|failure) (while|when)? (open|read|load|download|process|handle|analyze|probe|convert|seek|encode|write|import|ingest|scan|opening|reading|processing|converting|loading) ...3 (image|video|audio|media|pdf|frame|archive|picture|codec|subtitle|track|bitmap|zip|font|thumbnail|document|attachment|spreadsheet|page)
		error opening input
		(cannot|error) ...2 process ...2 (file|input|content)`},
	{id: "input.url", class: InvalidInput, weight: wStatus + 4, trait: identifiers, phrases: `
		(invalid|bad|malformed|illegal|wrong|missing|empty|unsupported|unknown|no|blank|incorrect|improper|unparseable|relative|disallowed) ...1 (url|uri|urls|link|hostname|host|scheme|protocol scheme|url scheme|port|domain|domain name|endpoint url|base url|ip address|connection string|dsn|webhook url|image url|video url|source url|redirect uri|youtube url|protocol|host in request url|callback url|path|query string|origin) !(notfound|was specified|message|found in|response)
		(url|uri|link|dsn|connection string|hostname|urls|redirect uri) ...3 (is|was|are|has|must)? (invalid|malformed|not valid|missing|empty|required|unsupported|illegal|bad|incorrect|not absolute|not allowed|rejected|cannot be parsed|blank|wrong|not well formed|absolute|start with|expired|blocked)
		(cannot|could not|failed to|unable to|error) (parse|parsing) ...2 (url|uri|link|address|dsn|connection string|host)
		no host in (request)? url
		no connection adapters
		no scheme supplied
		no protocol !(error|version)
		unsupported protocol (scheme)?
		protocol (not found|not supported|<any> not supported)
		err (invalid url|unknown url scheme|disallowed url scheme|invalid redirect)
		ERR_INVALID_URL
		(missing|bad|no|unknown|invalid) (url)? (schema|scheme) !(definition|field)
		InvalidURL
		InvalidSchema
		MissingSchema
		MalformedURLException
		URISyntaxException
		UriFormatException
		LocationParseError
		first path segment in url
		missing in host
		missing protocol scheme
		net url
		invalid (url)? escape
		(too many|exceeded|maximum|infinite|circular|endless) ...1 (redirect|redirects|redirections|redirect loop|number of redirects)
		redirect (loop|count exceeded|limit|error)
		TooManyRedirects
		redirected too many
		stopped after <number> redirects
		maximum number of <number> redirects
		bad range
		url using bad
		failed to get http url content
		wrong file identifier
		(unsupported|invalid) (web|image|video|media) (page|link|source)
		(not|isnt) a (valid)? (url|uri|link|domain|hostname|email|phone number)
		not an absolute (url|uri)`},
	{id: "input.bad", class: InvalidInput, weight: wGeneric, trait: identifiers, phrases: `
		(invalid|bad|illegal|wrong) (input|argument|arguments|data|request|value|parameter|parameters|content|operation) (error|exception|provided|found|detected|for|in|data)?
		InvalidArgument
		INVALID ARGUMENT
		InvalidInput
		InvalidRequest
		invalid_request_error
		BadRequest
		bad request
		InvalidParameterException
		(not|isnt) (a)? (valid|usable|acceptable|supported)
		(poor|low|insufficient) (quality|resolution|audio quality)
		(blurry|silent|silence|inaudible|illegible)
		(invalid|bad) (options|settings|configuration|config|command|command line)
		EINVAL
		EDOM
		ERANGE
		EBADF
		EISDIR
		ENOTSUP
		EOPNOTSUPP
		ENOTTY
		ESPIPE
		ENOSYS
		EXDEV
		ENOTEMPTY
		ELOOP
		ENOTBLK
		is a directory
		not a directory
		(no|unknown) such (filter|option|encoder|decoder|format|protocol|codec|muxer|demuxer|device or address|bitstream filter|preset)
		(filter|option|encoder|decoder|codec|muxer|preset|profile) ...2 (notfound|unknown)
		(unknown|unrecognized) (option|encoder|decoder|filter|codec|flag|argument|switch|preset|command line|input format|output format)
		Unprocessable
		bad (parameter|parameters|arguments|option|file|name|format|data)`},
}
