package failure

// typeRules are names of exceptions, in any language.
var typeRules = []rule{
	{id: "type.timeout", class: NetworkTimeout, weight: wSaid + 1, trait: identifiers, phrases: `
		(timeout|timed out|timeout expired|time out) (error|exception)
		(connect|connection|read|write|socket|request|pool|gateway|response|body|headers|http|async|query|operation|command|lock|navigation|weaviate|client|server|api|network|db|database|redis|kafka|mongo|wait) timeout (error|exception)
		(connection|network|socket|transport|connect|mongo network|api connection|connection reset|connection aborted|broken pipe|protocol|remote disconnected|client connector|server disconnected|connection closed|connection lost|eof|max retry|new connection|incomplete read|chunked encoding|stream|channel closed|not connected|websocket|interface|amqp connection|connection interrupted|weaviate connection|es connection|redis connection) (error|exception|refused error|errors)
		ConnectionError
		MongoNetworkError
		WeaviateTimeoutError
		MaxRetryError
		NewConnectionError
		ProtocolError
		RemoteProtocolError
		ReadError
		ConnectError
		SocketException
		SocketTimeoutException
		ConnectTimeoutException
		ConnectException
		NoRouteToHostException
		PortUnreachableException
		EOFException
		EOFError
		EndOfStreamException
		ClientPayloadError
		ClientOSError
		ServerTimeoutError
		APITimeoutError
		APIConnectionError
		NetworkError
		TransportError
		HttpRequestException
		WebSocketException
		CommunicationsException
		ClosedChannelException
		AsyncRequestTimeoutException
		NoHttpResponseException
		InterruptedIOException
		ConnectionResetError
		ConnectionAbortedError
		BrokenPipeError
		ServerSelectionError
		MongoServerSelectionError
		MaxRetriesPerRequestError`},
	{id: "type.service", class: TemporaryServiceError, weight: wSaid + 1, trait: identifiers, phrases: `
		(service unavailable|service unavailable error|server error|internal server error|bad gateway|temporary error|transient error|retryable error|service error|unavailable error|server unavailable|try again) (error|exception)?
		ServiceUnavailable
		ServiceUnavailableError
		InternalServerError
		ConnectionRefusedError
		UnknownHostException
		RetryableException
		TransientException
		RetryableError
		TransientError
		ServerErrorException
		(kafka|broker|rabbit|pulsar|nats) (error|exception)
		CircuitBreakerOpenException
		CallNotPermittedException
		BrokenCircuitException
		BulkheadFullException
		StaleConnectionException`},
	{id: "type.rate", class: RateLimitExceeded, weight: wStatus, trait: identifiers, phrases: `
		(rate limit|rate limited|ratelimit|rate limit exceeded|too many requests|throttling|throttled|quota rate|flood wait|request limit) (error|exception|exceeded)
		RateLimitExceeded
		RateLimitError
		TooManyRequestsError
		ThrottlingError`},
	{id: "type.validation", class: ValidationError, weight: wSaid, trait: identifiers, phrases: `
		(validation|schema|format|parse|parser|parsing|serialization|deserialization|decode|syntax|argument|illegal argument|invalid argument|number format|json|yaml|xml|conversion|type mismatch|binding|config|configuration|option|usage|template|zod|pydantic|marshal|unmarshal|data format|invalid parameter|missing parameter|constraint) (error|exception|errors)
		ValidationError
		ZodError
		ConfigError
		ConfigurationError`},
	{id: "type.auth", class: AuthenticationFailure, weight: wSaid + 2, trait: identifiers, phrases: `
		(authentication|auth|unauthorized|credential|credentials|login|token expired|invalid token|expired token|invalid credentials|unauthenticated|signature|access token|api key|not authenticated) (error|exception)
		AuthenticationError
		AuthenticationException
		UnauthorizedError
		UnauthorizedException
		UnauthorizedAccessException
		BadCredentialsException
		InvalidTokenError
		TokenExpiredError
		JsonWebTokenError
		ExpiredSignatureError
		InvalidSignatureError
		ClientAuthenticationError`},
	{id: "type.permission", class: PermissionError, weight: wSaid + 2, trait: identifiers, phrases: `
		(permission|permissions|permission denied|access denied|forbidden|authorization|not authorized|security|access control|privilege|access) (error|exception)
		PermissionError
		PermissionDeniedError
		AccessDeniedException
		ForbiddenError
		ForbiddenException
		SecurityException
		AuthorizationException`},
	{id: "type.notfound", class: NotFound, weight: wSaid + 1, trait: identifiers, phrases: `
		(not found|no such|does not exist|missing|record not found|file not found|resource not found|object not found|key not found|entity not found|model not found|no such element|not exist) (error|exception)
		NotFoundError
		NotFoundException
		ObjectDoesNotExist
		DoesNotExist
		NoResultFound
		NoResultException
		EntityNotFoundException
		RecordNotFound
		ResourceNotFoundError
		GoneError`},
	{id: "type.business", class: BusinessLogicError, weight: wSaid + 1, trait: identifiers, phrases: `
		(business|business logic|business rule|domain|conflict|already exists|duplicate|state|invalid state|illegal state|invalid operation|precondition failed|unprocessable|unprocessable entity|workflow|stale|integrity|uniqueness) (error|exception)
		BusinessLogicError
		BusinessException
		ConflictError
		ConflictException
		ResourceExistsError
		UnprocessableEntityError
		UnprocessableEntity
		DomainError`},
	{id: "type.input", class: InvalidInput, weight: wSaid, trait: identifiers, phrases: `
		(bad request|invalid input|unsupported format|unsupported media|invalid url|invalid image|invalid file|decoder|decoding|unsupported|corrupt|corrupted|media|codec|image) (error|exception)
		BadRequestError
		BadRequestException
		UnsupportedFormatError
		UnsupportedMediaTypeException
		CodecException`},
	{id: "type.quota", class: QuotaExceeded, weight: wStatus, trait: identifiers, phrases: `
		(quota|quota exceeded|limit exceeded|usage limit|resource limit) (error|exception)
		QuotaExceededError`},
	{id: "type.payment", class: PaymentRequired, weight: wStatus + 4, trait: identifiers, phrases: `
		(payment|payment required|billing|card|insufficient funds|subscription|insufficient credits|out of credits|insufficient balance) (error|exception)
		PaymentRequiredError`},
	{id: "type.resource", class: ResourceConstraint, weight: wStatus + 4, trait: identifiers, phrases: `
		(memory|out of memory|resource exhausted|oom|disk full|insufficient resources|pool exhausted|resource|pool timeout|capacity) (error|exception)
		MemoryError`},
	{id: "type.content", class: ContentViolation, weight: wStatus + 4, trait: identifiers, phrases: `
		(content policy|moderation|content filter|content violation|safety|blocked prompt|copyright|stop candidate|content policy violation|content blocked) (error|exception|finish reason error)
		BlockedPromptException
		StopCandidateException
		ContentFilterFinishReasonError`},
	{id: "type.limit", class: InputExceedsLimits, weight: wStatus + 6, trait: identifiers, phrases: `
		(payload too large|request too large|file too large|entity too large|size limit|max size|too large|too long|context window|context length exceeded|context window exceeded|max upload size exceeded|size limit exceeded|length limit|body too large|content too large|max length|decompression bomb) (error|exception)
		MaxUploadSizeExceededException
		ContextWindowExceededError`},
}

// genericRules are single words and common pairs: what is left when nobody says
// anything exact.
var genericRules = []rule{
	{id: "generic.retriable", class: TemporaryServiceError, weight: wFaint, phrases: `
		(in progress|ongoing|underway)
		(back off|backoff)
		(waiting|awaiting) for
		(retryable|retriable)
		(not ready|starting|initializing)
		(downtime|outage)
		overload
		(interrupted|interruption)`},
	{id: "generic.network", class: NetworkTimeout, weight: wFaint, phrases: `
		(network|networking) !(policy|settings)
		(connection|connect|connectivity|disconnected) !(string|url|id|name)
		(socket|tcp|udp)
		(eof|hangup)
		latency
		proxy`},
	{id: "generic.input", class: InvalidInput, weight: wFaint + 2, phrases: `
		invalid
		(corrupt|corrupted|damaged|broken|truncated)
		(unreadable|undecodable|unintelligible)
		(wrong|incorrect|improper)
		(private|expired)
		(unsupported|unknown format)
		(removed|unpublished)`},
	{id: "generic.refused", class: BusinessLogicError, weight: wFaint, phrases: `
		(rejected|declined) !(connection)
		(violates|violation|violated)
		(cannot|must not) be
		(ineligible|inapplicable|impossible)
		(not|isnt) (possible|applicable|allowed)`},
	{id: "generic.limit", class: InputExceedsLimits, weight: wFaint + 2, phrases: `
		(exceed|exceeds|exceeded|exceeding)
		!(no) (larger|longer|bigger)
		(maximum|max) (of|is|allowed)`},
}
