package failure

// cloudRules are the codes that clouds give. Those of other families, such as
// AccessDenied, stand there.
var cloudRules = []rule{
	{id: "cloud.retriable", class: TemporaryServiceError, weight: wCode, trait: identifiers, phrases: `
		ServiceUnavailable
		ServiceUnavailableException
		ServiceUnavailableError
		ServiceException
		ServiceFailure
		ServiceFault
		ServiceInternalError
		InternalError
		InternalFailure
		InternalServerError
		InternalServerException
		InternalServiceError
		InternalServiceException
		InternalException
		DependencyFailure
		KMSInternalException
		TransientFailure
		TransientError
		TemporarilyUnavailable
		TemporaryRedirect
		ServerTooBusy
		ModelNotReadyException
		ModelStreamErrorException
		NotReady
		ClusterNotReady
		ResourceNotReadyException
		backendError
		internalError
		serviceUnavailable
		ServerBusyException
		AccountBeingCreated
		ContainerBeingDeleted
		QueueBeingDeleted
		TableBeingDeleted
		ResourceBeingDeleted
		LeaseAlreadyPresent
		LeaseIdMissing
		LeaseIdMismatchWithBlobOperation
		PendingCopyOperation
		ResourceInProgress
		OperationInProgress
		AnotherOperationInProgress
		is already being (created|deleted|updated|processed)
		has not finished
		(replication|propagation) (in progress|not complete)
		(503|500) (service|internal)`},
	{id: "cloud.timeout", class: NetworkTimeout, weight: wStatus + 4, trait: identifiers, phrases: `
		RequestTimeout
		RequestTimeoutException
		RequestTimedOut
		OperationTimedOut
		GatewayTimeout
		ModelTimeoutException
		UpstreamTimeout
		DEADLINE EXCEEDED
		DeadlineExceeded
		deadlineExceeded
		FUNCTION INVOCATION TIMEOUT
		TaskTimedOut
		States Timeout
		Lambda Timeout
		socket connection to the server was not read from or written to
		could not connect to the endpoint url
		EndpointConnectionError
		EndpointUnavailable
		ClientConnectorError
		ServerDisconnectedError
		IncompleteBody`},
	{id: "cloud.state", class: BusinessLogicError, weight: wStrong + 4, trait: identifiers, phrases: `
		InvalidObjectState
		InvalidBlobType
		InvalidState
		InvalidResourceState
		ObjectLockConfigurationNotFound
		(object|blob) ...4 (archive|archived|glacier|storage class) !(class analysis)
		restore the object
		BlobArchived
		BlobBeingRehydrated
		SnapshotsPresent
		generation mismatch`},
	{id: "cloud.invalid", class: InvalidInput, weight: wStrong + 2, trait: identifiers, phrases: `
		InvalidBucketName
		InvalidPart
		InvalidPartOrder
		EntityTooSmall
		InvalidRange
		InvalidURI
		InvalidLocationConstraint
		IllegalLocationConstraintException
		InvalidHeaderValue
		InvalidBlobOrBlock
		InvalidBlockList
		InvalidBlockId
		InvalidResourceName
		InvalidMetadata
		InvalidXmlDocument
		InvalidUri
		OutOfRangeInput
		UnsupportedHeader
		UnsupportedHttpVerb
		UnsupportedXmlNode
		MissingContentLength
		MissingRequestBodyError
		MissingRequiredHeader
		IncorrectEndpoint
		PermanentRedirect
		the bucket you are attempting to access must be addressed
		UnsupportedDocument
		UnsupportedDocumentException
		BadDocumentException
		InvalidImageFormatException
		InvalidS3ObjectException
		UnsupportedLanguagePairException
		UnsupportedOperationException
		UnsupportedMediaTypeException
		parseError
`},
	{id: "cloud.invalid", class: InvalidInput, weight: wStrong + 2, trait: identifiers | codesOnly, phrases: `
		invalidParameter
		invalidArgument
		invalidValue`},
}

// modelRules are what the APIs of models say.
var modelRules = []rule{
	{id: "model.overloaded", class: TemporaryServiceError, weight: wCode, trait: identifiers, phrases: `
		overloaded_error
		OverloadedError
		engine_overloaded
		model_overloaded
		(model|engine|server|api) (is)? (currently|temporarily)? overloaded
		is overloaded with other requests
		that model is currently overloaded
		(currently|experiencing) (high demand|heavy load)
		no available (model|capacity|instance|worker|backend|server) (for)?
		model (is)? (currently)? (loading|busy|unavailable|not loaded)
		service tier capacity exceeded
		the server had an error
		bad gateway
		(response|stream|generation) (was)? (interrupted|incomplete|cut off|aborted)
		(inference|prediction|generation) (failed|error|timeout)`},
	{id: "model.missing", class: NotFound, weight: wStrong, trait: identifiers, phrases: `
		model_not_found
		(model|deployment|engine|voice|assistant|thread|fine tune|checkpoint|adapter|lora) ...4 (not found|noexist|notfound|has been deprecated|unavailable in this region|is not available for|has been shut down|was removed|retired|decommissioned|do not have access)
		invalid model (name|id|identifier)?
		(unknown|unsupported|no such) model
		not_found_error
		DeploymentNotFound`},
	{id: "model.invalid", class: ValidationError, weight: wStatus, trait: identifiers, phrases: `
		(maximum|max) tokens ...6 (exceed|lower|larger|too|must)
		max tokens ...4 (too large|exceeds|must be|limit)
		(temperature|top p|top k|seed|penalty|n|logprobs|stop sequences|max tokens|reasoning effort) (must|should|is|cannot|out of range|does not|not supported|unsupported)
		(unsupported|invalid|unknown) (role|message role|tool|function|content block|response format|modality|parameter value|image url|voice)
		tool_use ids
		(tool|function) (call|calls|use|result|results) ...5 (must|missing|without|invalid|not found|corresponding|required)
		(messages|contents|prompt|input|first message|last message|roles) ...3 (must|required|alternate|cannot|empty|at least|should|are missing|is missing|missing)
		invalid_request_error param
		unsupported_parameter
		does not support (image|images|tools|vision|streaming|audio|video|function|functions|this|system|json|the|temperature|chat|embeddings|completions)`},
	{id: "model.region", class: PermissionError, weight: wStrong + 4, trait: identifiers, phrases: `
		unsupported_country_region_territory
		(country|region|location) ...5 (unsupported|notallowed|not supported)
		user location
		organization must be verified
		(project|organization|account) ...4 (does not have access|not have access|no access) to model
		(use|usage) of this (model|feature|endpoint) ...4 (restricted|requires|not allowed)
		(on your behalf|behalf)
		data retention policy`},
}

// mediaRules are what programs for pictures, sound, video and documents say.
var mediaRules = []rule{
	{id: "media.input", class: InvalidInput, weight: wStrong + 2, trait: identifiers, phrases: `
		invalid data found when processing input
		moov atom not found
		could not find codec parameters
		(error|errors) while (decoding|opening encoder|processing the decoded|filtering|opening decoder)
		(no|unknown|invalid) (frame|frames|keyframe|sample|start code|nal unit|sps|pps|track|picture) ...2 (found|decoded|header|output|size)?
		(decode|parse) (slice|frame|header|sps|pps|pce|packet|block|band|picture|extradata|nal) ...2 (error|failed|header)?
		(header|frame|packet|block|bitstream|keyframe|ebml|atom|box|chunk|riff|sync) (missing|damaged|invalid|corrupt|truncated|parsing failed|not found|header)
		(input|output) (link|stream|pad|buffer|file|format|picture|frame|image|video|device) ...3 (exhausted|invalid|not match|error|not supported|no such|unsupported|is not|does not|empty|not found|incompatible)
		(error|failed|unable|could not|cannot) ...2 (initializing|reinitializing|configure|initialize|inject|create|open|find|write|load|set) ...3 (filter|filters|filtergraph|complex filters|output stream|encoder|decoder|input pad|output pad|codec|header|muxer|demuxer|option|bitstream filter|hwaccel|hardware|device|vaapi|cuda|nvenc|qsv)
		(option|filter|stream|map|bitstream filter|codec|preset|pixel format|profile|level) ...3 (not found|matches no streams|unknown|invalid|not supported|unsupported|incompatible|does not exist|not compatible)
		incorrect codec parameters
		(width|height|dimensions|resolution|frame size|picture size|sample rate|bit rate|bitrate|frame rate|aspect|crop|scale|pixel aspect) ...3 (invalid|not divisible|not supported|unsupported|too|non positive|odd|mismatch|out of range|is not|zero)
		(not|is not) divisible by
		(muxer|demuxer|encoder|decoder|codec|container|protocol) (does not support|not supported|unavailable|not found|not currently supported|is not)
		non seekable
		unsupported (codec|pixel format|sample format|channel layout|audio|video|image|color|subsampling|bit depth|chroma)
		(video|audio|subtitle) codec ...2 (unsupported|not supported|unknown|invalid)
		could not (find tag|find encoder|write header|determine|open codec|find codec)
		no such filter
		at least one (output|input) file must
		(pdf|docx|xlsx|pptx|epub|html|svg|heic|webp|tiff|gif|bmp|raw|psd|exif|icc) (file|document|image|data|header|stream|is|page|parse|cannot|error|not|xref) ...4 (corrupt|damaged|encrypted|invalid|not a|broken|malformed|unsupported|error|password|missing|truncated|bad|unexpected|empty)
		(incorrect|wrong|missing|no|requires a) ...1 password !(for user|authentication|supplied)
		(document|file) has not been decrypted
		(no|not any) (text|barcode|face|speech|pages|images|objects) (found|detected|recognized|in)
		(cannot|unable to) ...2 (load|open|read) (the)? (image|font|picture|video|sound|audio|model file|document)
		libpng (error|warning)
		(jpeg|jpg) (datastream|marker|error|image|file) ...3 (corrupt|premature|unsupported|not|no)
		not a jpeg
		(tiff|gif|webp|png) (read|decode|open|write)? error
		bogus (huffman|marker|sampling|virtual|message|input)
		invalid (sos|sof|dht|crc|chunk|icc|color|jpeg|iccprofile|huffman)
		(audio|sound|speech|voice|recording) ...3 (too short|too quiet|silent|empty|unintelligible|could not be decoded|file could not be decoded|file might be corrupted)
		cannot write mode`},
}

// documentRules are about documents that are locked.
var documentRules = []rule{
	{id: "media.locked", class: InvalidInput, weight: wCode, trait: identifiers, phrases: `
		(pdf|pikepdf|pypdf|itextpdf|archive|zip|rar|workbook|xlsx|pdfreader|document|docx|zipfile|7z) ...8 password
		(document|file|archive|zip|pdf|workbook) ...3 (encrypted|password protected|password required)
		(password|passphrase) (required|needed) to open`},
}
