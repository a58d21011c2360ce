package failure

// validationRules are about requests that do not have the form required.
var validationRules = []rule{
	{id: "validation.field", class: ValidationError, weight: wStatus, trait: identifiers, phrases: `
		ERESOLVE
		(extension|option|feature|format|language|plugin|command|filter|encoder|codec|region|size|instance type|sku) ...2 (is|are) unavailable
		must (be|have|contain|match|start|begin|end|specify|provide|include|consist|set|use|equal|conform|follow|define|come|exist|belong|point|refer|implement|satisfy|declare|at least|all|only|also|fall|lie|not|supply|pass|send|represent|resolve|comply|alternate) !(connected|retried|running|ready|available|logged|authenticated|authorized|signed|an admin|granted|a member|retried|subscribed|verified|the owner|paid)
		(field|parameter|property|argument|attribute|key|value|column|header|option|variable|param|input|element|setting|query parameter|body|environment variable|env var|flag|name|email|id|type|data|prompt|file|text|model|recipient|address|subject|date|body parameter|path parameter|message|messages|title|content|password|username|url|image|amount|currency|quantity|code|token|version|region|bucket) ...3 (is|are|was|were) (a)? (required|mandatory|missing|invalid|empty|not valid|unknown|unexpected|not allowed|read only|not recognized|unsupported|duplicated|out of range|reserved|ambiguous|immutable|too short|null)
		(required|mandatory|missing|invalid|unknown|unexpected|unrecognized|extra|duplicate|unsupported|empty|bad|incorrect|malformed|conflicting|ambiguous|undefined|undeclared|illegal|null|blank|wrong|absent|deprecated|mutually exclusive|unrecognised) (required|mandatory|value for|values for|or missing|or unknown|or malformed|or empty|or invalid|json|request|query|input|the|body|form|path|user|named|positional|keyword|template)? ...1 (field|fields|parameter|parameters|property|properties|argument|arguments|attribute|attributes|key|keys|column|columns|header|headers|option|options|param|params|element|elements|setting|settings|operator|keyword|token|identifier|variable|enum|directive|placeholder|macro|literal|expression|statement|clause|function|method|command|operand|selector|cast|symbol|character|characters|escape|number|integer|date|datetime|timestamp|timezone|time zone|duration|interval|uuid|guid|boolean|float|decimal|currency|email|email address|phone|phone number|zip|zip code|postal code|iban|regex|regular expression|pattern|xpath|cron|cron expression|timestamp format|date format|object id|objectid|cursor|page token|continuation token|filter|sort|aggregation|json|xml|yaml|toml|csv|html|sql|query|syntax|schema|payload|body|request body|message format|template|tag|attribute value|type|data type|value|values|name|length|range|index|enum value|locale|version|argument type|address|recipient|sender|subject|color|amount|quantity|price|size|id|identifier format|ids|arn|region|resource name|bucket name|model name|model id|role|username|string|utf 8|unicode|byte|encoding|offset|sequence|signature format|hash|coordinates|latitude|geometry|media id|reference format|combination|configuration|config|response format|tool|tool call|message role|schema version|file id|use) !(notfound|of memory|exists|store)
		no (value|values|argument|arguments|parameter|parameters|field|name|key|id|input|header|type|email|language|filename|path|option|url|title|text|query|schema|pattern|command|identifier|default|recipient|subject|role|config|configuration|region|body) (is|was|were|are|has|been|for|named|called|provided|given|specified|supplied|set|defined|present|passed|matches|field)
		(required|mandatory) (field|parameter|property|argument|attribute|key|value|column|header|option|input|element|param) !(service)
		(field|parameter|argument|property|value|this|it|input|column|name|header) required
		(is|are) (a)? required (field|property|parameter|argument|but|and|for|in|when|if|to|by|at|attribute)
		required but
		(not|never) (empty|null|negative|zero|positive|blank|none|whitespace|nan|unique|numeric|an integer|a number|a string|a list|an array|an object|a boolean|iterable|a function|callable|hashable|subscriptable|serializable|json serializable|comparable|a function or|a constructor|assignable|in the list|in the allowed|in enum|one of|among|an instance|a multiple|divisible|in range|within range|between|of type|of the form|of form|in the format|in format|in the correct|in the right|well formed|a valid|ascii|alphanumeric|finite|sorted|increasing|defined|initialized|a subset|a power|greater|less|equal|conform|match|compatible|contain|start|begin|end|a json|a positive|a supported|unique|consistent|an allowed|enough values|both|convertible|implement|compile)
		(validation|schema|constraint|integrity|type|format|syntax|parse|parsing|parser|decode|decoding|encoding|serialization|deserialization|unmarshal|marshal|cast|casting|mapping|binding|argument|input|data|parameter|semantic|lexical|grammar|compile|compilation|template) (error|errors|failed|failure|exception|mismatch|violation|violations|problem|violated)
		(failed|fails|failing|did not pass|does not pass|not pass|violates|violated|break|breaks|violating) ...2 (validation|schema|constraint|verification of input|type check|format check|check constraint|rule|invariant|the contract|assertion)
		ValidationError
		ValidationException
		ValidationFailed
		validation (error|failed|problem|exception)
		(invalid|failed) (format|json|input syntax)
		InvalidParameterValue
		InvalidParameter
		InvalidParameterCombination
		MissingParameter
		MissingRequiredParameter
		MissingRequiredField
		ParamValidationError
		UnknownParameter
		UnsupportedParameter
		unsupported_value
		InvalidAttributeValue
		InvalidQueryParameter
		MalformedXML
		MalformedPolicyDocument
		MalformedQueryString
		SerializationException
		InvalidSyntax
		SyntaxError
		ParseError
		parse_exception
		mapper_parsing_exception
		illegal_argument_exception
		x_content_parse_exception
		strict_dynamic_mapping_exception
		query_shard_exception
		IllegalArgumentException
		ArgumentException
		ArgumentNullException
		ArgumentOutOfRangeException
		ArgumentError
		NumberFormatException
		DateTimeParseException
		FormatException
		JsonParseException
		JsonMappingException
		JsonSyntaxException
		MismatchedInputException
		HttpMessageNotReadableException
		MethodArgumentNotValidException
		ConstraintViolationException
		DataFormatException
		InvalidFormatException
		UnrecognizedPropertyException
		InvalidOperation
		InvalidContentType
		UnsupportedMediaType
		(cannot|could not|unable to|failed to|error|failure) (while)? (parse|parsing|unmarshal|unmarshalling|deserialize|deserializing|serialize|serializing|marshal|convert|converting|cast|coerce|decode|interpret|scan|validate|validating|compile|compiling|evaluate|encode|construct|map|bind|binding|unpack|destructure) (json|value|request|body|data|string|number|date|time|input|payload|message|object|argument|field|to|from|into|null|as|xml|yaml|config|configuration|response as|int|float|timestamp|duration|parameter|row|type|enum|template|expression|query|the|pattern|regex|headers|schema|header|content|arguments|command|template|event|record|file) !(response from|answer)
		(cannot|could not|failed to) (parse|unmarshal|deserialize|coerce|evaluate field|convert|scan|cast)
		(json|yaml|xml|toml|csv|html|sql|protobuf|avro|graphql|template) (parse|parsing|syntax|decode|decoding|unmarshal|validation|schema|scanner|deserialization)? (error|failure|invalid|exception|failed|cannot unmarshal|is not valid|unmarshal|malformed|syntax)
		json: (cannot|unknown field|unsupported|invalid)
		invalid character ...6 (looking|after|in|beginning|value|literal)
		unexpected (token|character|symbol|identifier|keyword|type|value|field|property|argument|keyword argument|indent|operator|string|number|element|tag|key|parameter|attribute|column|input|delimiter|literal|byte|end of input|name|option|nesting)
		(expected|expecting|want|wanted|require|requires) ...5 (got|found|received|but|instead|was|given|actual|saw)
		(got|received|found|given|but got|but was|but found) ...3 (expected|instead|wanted)
		expecting (property name|value|comma|delimiter|string|identifier|a)
		expected (a|an|one of|string|number|object|array|integer|boolean|type|value|identifier|expression|at least|exactly|key|token|input|comma|list|dict|int|<number>)
		(out of|outside|not in) (the)? ...2 (range|bounds|domain|allowed values|valid range|allowed range|permitted range|sequence)
		(wrong|incorrect|unexpected|invalid|mismatched|different|bad|incompatible|inconsistent) (number of|type|types|format|data type|length|size|shape|dimension|dimensions|arguments|value type|order|count|content type|signature of|structure|argument|schema|encoding|kind|key type|version|structure|syntax|usage)
		(type|types|shape|size|dimension|dimensions|schema|version|length|arity|format|column|columns|argument|key|column count|tensor|data|unit|currency|mode|parameter) (mismatch|mismatched|do not match|does not match|not match|are incompatible|incompatible|mismatches|differ)
		(does not|do not|did not|doesnt|should|must) (match|conform|satisfy|comply|adhere|follow|correspond|fit|meet|equal) ...3 (pattern|schema|format|regex|regular expression|type|expected|requirements|specification|constraint|constraints|rule|rules|definition|any|the|required|criteria|one of|value|signature|parameter|the allowed)
		(is|are|was) not (one of|of type|a valid|an allowed|a supported|an accepted|in the list|within|of the|a recognized|permitted value|supported value|an|a)
		(allowed|valid|accepted|permitted|supported|possible|available|acceptable|legal) (values|options|types|formats|choices|keys|operators) (are|is|include|for)?
		(one of|either) the following
		should be ...3 (a|an|one|of|in|string|number|object|array|integer|positive|greater|less|at|between|valid|equal|unique|non|longer|shorter|boolean|<number>)
		(value|input|argument|parameter|field|string|number|date|element|data|type|format) (error|is invalid|not allowed|out of range|too|cannot be|is not|was not|must|should|invalid|is unsupported|has an invalid)
		(syntax|grammar|parse) (error|incorrect|problem|mistake|near)
		near ... syntax error
		error in your sql syntax
		extra (data|inputs|fields|bytes|characters|content|argument|arguments|keys) (are|is|at|after|not|in)
		(unterminated|unclosed|unbalanced|unescaped|dangling|unmatched|mismatched|trailing|undefined|unresolved|undeclared|missing closing) ...2 (string|quote|bracket|brace|parenthesis|comment|tag|token|comma|variable|symbol|reference|expression|data|characters|placeholder|character|literal|entity|label|block|delimiter|identifier|<any>)
		(before|after|earlier than|later than|precedes|in the) (start|end|begin|beginning|past|future) (date|time|timestamp|of)?
		(start|end|from|date|until|begin|expiry|due|time) ...4 (before|after|earlier than|later than|in the past|in the future|precedes) ...2 (start|end|begin|now|today|past|future|from|to)
		(field|fields) ... is (before|after|less|greater)
		(month|day|hour|minute|second|year|date|time) out of range
		(invalid|impossible|bad|ambiguous|nonexistent) (date|time|day|month|timestamp|datetime|calendar)
		(duplicate|repeated|conflicting|circular|cyclic|recursive|self) (field|fields|parameter|argument|option|attribute|reference|dependency|definition|import|column name|label|alias|id in|ids in)
		mutually exclusive
		(cannot|can not|not) be (used|combined|specified|set|mixed|applied|provided|given|supplied|both|present) (together|with|at the same time|both|without|in combination|simultaneously|when|for|on|if)
		only one of
		(at least|exactly|only|one of|either) one ...3 (of|must|required|should|field|parameter|may)
		(misconfiguration|misconfigured|improperly configured)
		ImproperlyConfigured
		(invalid|bad|missing|wrong|broken|incorrect|incomplete|unsupported|no) (configuration|config|setting|settings|environment variable|env variable|parameter group)
		(configuration|config|environment variable|env var|setting|option|env) ...3 (error|invalid|missing|not set|is required|must|not defined|is empty|not configured|not found in environment|unset|incorrect)
		not (configured|set|defined|specified|declared) !(yet)
		(is|was)? (not implemented|unimplemented|not yet implemented|unsupported operation|not supported)
		NotImplemented
		NotImplementedError
		NotSupportedException
		UnsupportedOperation
		UnsupportedOperationException
		Unimplemented
		(method|operation|verb|http method|action|command|feature|function|type|version|parameter|option|query|statement|request|mode|model|field|encoding|value|region|property|image|transaction) ...3 (unsupported|notallowed|not implemented|deprecated|unknown|unrecognized)
		method not allowed
		MethodNotAllowed
		(unsupported|unknown|unrecognized|undefined|invalid|unexpected) (method|operation|action|command|function|procedure|verb|feature|type|version|model|engine|region|parameter value|query|mode|api|api version|instruction|opcode|kind|task|job type|event type|message type|event|step|workflow type|handler|queue type|entity type|field type|media|driver|backend|strategy|algorithm|key|flag|option|argument|enum value|attribute|module option|locale|encoding|job|activity type|subcommand|sub command|mime type|class|protocol version|dialect|adapter|provider)
		unknown field
		(job|task|message|event|workflow|activity|command) type ...2 (unknown|unsupported|not registered|is not registered|unrecognized)
		(no|unknown|missing) (handler|consumer|processor|worker|adapter|converter|serializer|deserializer|codec|resolver|mapping|encoder|operator|function|overload|route|implementation|template|provider|factory|strategy|parser) (is|was|for|registered|found|matches|matching|exists|configured|available|defined|function)
		(is|was) deprecated
		(deprecated|discontinued|sunset|decommissioned|retired|obsolete|end of life|no longer supported|no longer available)
		(api|model|endpoint|version|feature) ... (deprecated|discontinued|retired|decommissioned|shut down|sunset|no longer supported|obsolete)
		version (is)? (too old|outdated|unsupported|not supported|incompatible|mismatch|conflict of schema)
		upgrade (required|to a newer version|your client|the client)
		(incompatible|unsupported) ...1 (version|client|protocol|schema|api|type|types|argument|change|server)
		(cannot|can not) (be)? (null|empty|blank|negative|assign|write mode|modify|mutate|concatenate|compare|index|slice|iterate|multiply|add|divide|subtract|pickle|unpickle|reshape|broadcast|set property|set properties|delete property|read properties|read property|mix|use|send an empty|encode|decode field|specify|contain|exceed)
		roles must alternate
		(precondition|condition) (required|header)
		length required
		(expected|unexpected) (content type|response format)
		not acceptable
		(same parameters|different parameters|different request|idempotency key) ...6 (reuse|used|different|same|mismatch|conflict|already)
		idempotency (error|key)
		IdempotentParameterMismatch
		wrong number of
		duration cannot be
		division by zero
		divide by zero
		ZeroDivisionError
		(infinite|recursion|nesting) (loop|depth|too deep)
		maximum recursion
		conversion syntax
		(rejected|invalid) ... (contains|characters|format|empty)
		contains (invalid|illegal|unsupported|forbidden|disallowed|unexpected|non|unknown|no|special|unescaped|duplicate|multiple|both) ...2 (character|characters|value|values|field|fields|data|key|keys|symbols|content type|entries|bytes|elements|parameters)`},
	{id: "validation.word", class: ValidationError, weight: wWeak - 2, phrases: `
		(=cannot|=cant) <value>
		not (a|an) <value>
		not have (a|an|any) <value>
		only ...5 (allowed|permitted|accepted|supported)
		please (enter|provide|specify|select|choose|supply|use a|set)
		cast ...4 failed
		division by 0
		(unsatisfiable|not satisfiable|not satisfy)
		(unable|cannot) (to)? (recognize|choose|determine|interpret|obtain)
		for input string
		no matching
		(requires|required) <value>
		default value
		usage error
		(is|are) of type
		(validation|validate|validator)
		(required|mandatory) !(retry|service|action is|connection)
		invalid <value>
		missing
		(mismatch|mismatched|incompatible)
		(unparseable|unparsable)
		(malformed|ill formed)
		(expected|expects|expecting)
		(syntax|parse|parsing)
		(misconfigured|unset)
		ambiguous
		must
		out of range
		not implemented
		unknown (field|option|key|flag|command|column|type|value|name)
		unsupported`},
}

// businessRules are about requests that the rules of an application refuse.
var businessRules = []rule{
	{id: "business.state", class: BusinessLogicError, weight: wStatus + 1, trait: identifiers, phrases: `
		(already|previously) (been)? (exists|exist|existing|registered|taken|used|processed|completed|cancelled|canceled|paid|refunded|captured|shipped|approved|rejected|closed|submitted|published|sent|started|finished|running|active|assigned|claimed|confirmed|redeemed|applied|added|subscribed|enrolled|member|a member|deleted|archived|locked|voted|reviewed|scheduled|in progress|in state|disputed|charged|settled|voided|fulfilled|delivered|received|consumed|acknowledged|owned|present|defined|created|succeeded|failed|a|an|terminated|enabled|disabled|allocated|attached|invited|joined|reported|linked|open|opened|merged|released|expired|stopped|done|committed|declared|initialized|set|connected to)
		(exists|exist) already
		AlreadyExists
		AlreadyExistsException
		ALREADY EXISTS
		BucketAlreadyExists
		BucketAlreadyOwnedByYou
		BlobAlreadyExists
		ResourceInUseException
		ResourceInUse
		ResourceAlreadyExistsException
		EntityAlreadyExists
		ConditionalCheckFailed
		ConditionalCheckFailedException
		PreconditionFailed
		precondition (failed|not met|is not satisfied|not satisfied|violated)
		ConditionNotMet
		condition not met
		conditional (check|request) failed
		FailedPrecondition
		FAILED PRECONDITION
		BusinessLogicError
		BusinessRuleException
		DomainException
		IllegalStateException
		InvalidOperationException
		InvalidStateException
		InvalidStateError
		IllegalStateTransition
		WorkflowExecutionAlreadyStarted
		EEXIST
		(file|object|record|user|resource|row|document|account|entity|bucket|table|database|index|key|order|email|name|branch|tag|topic|queue|item|entry|username|column|container|job|project) (with|named|for)? ...4 (already exists|is already|already in use|is taken|already taken|already registered)
		(is|are|was|were|be|been|in|has|have|from|current|its|order|status|state|not|job|the) ...2 (in)? (state|status|phase|stage) ...4 (cannot|not|must|needs|need|required|requires|invalid|expected|but|only|does not|is)
		(in|has|with|have|current|unexpected|wrong|invalid|illegal|incorrect|inconsistent|bad|incompatible|final|terminal) (the|a|an)? ...2 (state|status) !(code|line|lock|of|from|response|<number>)
		(is|are|was) (in)? (state|status) <value>
		(state|status) (is|was|transition|does not allow|machine) <value>
		not in (the|a|an)? ...2 (state|status|phase|draft|progress)
		(invalid|illegal|disallowed|unsupported|forbidden|no) (state|status)? transition
		(cannot|may not|can not|must not|not) be (cancelled|canceled|refunded|deleted|modified|changed|edited|updated|published|approved|shipped|returned|captured|reopened|processed|scheduled|transferred|merged|removed|archived|completed|started|voided|reversed|undone|submitted|moved|released|combined|reused|redeemed|applied|paused|resumed|renamed|reassigned|fulfilled|accepted|resent|altered|restored|retried|redone|disputed) !(for|within|to type|into|at this time)
		(cannot|can not) (cancel|refund|delete|modify|change|edit|update|publish|approve|ship|capture|reopen|process order|schedule|transfer|merge|archive|void|reverse|submit|move|release|redeem|pause|resume|rename|self|follow|invite|remove|unpublish|reject|withdraw|book|checkout|check out|assign|rollback|downgrade|send messages to|reply|message|bid|vote|drop|truncate|fulfill|reschedule|buy|sell|apply coupon)
		(violates|violate|violation of|violated|broke|breaks|breach|breaches|against|conflicts with|violating|contrary to|infringes) ...3 (business|rule|rules|policy rule|invariant|constraint|constraints|workflow|unique|foreign key|agreement|contract|requirement)
		(business|domain|workflow|invariant|integrity) (rule|rules|logic|constraint|error|violation|policy) ...2 (violated|violation|error|failed|exception|rejected|prevents)?
		(insufficient|not enough|no|out of|low|zero|limited|available|depleted|remaining) ...1 (stock|inventory|seats|units|items in stock|tickets|slots|supply|availability|rooms|copies|licenses left|vacancies|shares|quantity|liquidity|places)
		(stock|inventory) (is)? (insufficient|unavailable|exhausted|depleted|not available|level|too low)
		(sold|out of stock|out) out
		out of stock
		(coupon|voucher|promo code|promotion|offer|code|discount|gift card|quote|reservation|booking|invitation|invite|link|auction|window|period|deadline|order|registration|application|enrollment|sale|poll|survey|ticket|pass|cart|draft|contract|listing|entry) (has|is|was|have)? (already|been)? (expired|closed|ended|over|passed|fully booked|not eligible|redeemed|exhausted|inactive|invalid for|full|not active|cancelled|locked|finalized|not applicable|no longer valid)
		(not|isnt|in) (eligible|applicable|qualified|refundable|cancellable|transferable|deliverable|redeemable|returnable|editable|shippable|bookable|active yet|open for|due|idle|mergeable)
		(ineligible|noneligible|nonrefundable|non refundable)
		(unsubscribed|opted out|opt out|blacklisted|suppressed|do not contact|bounced|unsubscribe) ...2 (recipient|recipients|user|contact|number|address|list|from)?
		(recipient|user|contact|subscriber|address|number) ...3 (unsubscribed|opted out|suppressed|blocked messages|has stopped|replied with stop|on the suppression)
		(merge|edit|version|revision|update|write|optimistic|document|resource|etag|concurrency|generation|editing|state|schedule|booking|time|name|request) conflict !(please retry|error this operation)
		version_conflict_engine_exception
		conflict (with|detected|occurred|between|error|in|on|of)
		409 conflict
		(optimistic (lock|locking)|stale (object|version|revision|state|element|token|data|write|read|update|record))
		StaleObjectStateException
		OptimisticLockException
		stale (current|object|version)
		(version|revision|etag|sequence|token|generation|seqno|epoch|fencing token) ...4 (is stale|stale|out of date|outdated|mismatch|does not match|not match|conflict|too old|superseded|older)
		fencing token
		(fenced|superseded|preempted by newer)
		(was|has been|been) (modified|changed|updated|edited) (by|since|concurrently|in the meantime)
		(limit|cap|ceiling|budget|maximum|allowance) (of|for) ...4 (per|for|on) (order|customer|user|job|account|booking|household|cart|transaction|this) ...4 (reached|exceed|exhausted)?
		(cost|budget|price|spend|risk|credit|exposure) (cap|limit|ceiling|budget) ...6 (reached|exceed|exhausted)
		budget ...2 (exceed|exhausted|used up|spent)
		(minimum|maximum|min|max) (order|purchase|age|stay|bid|withdrawal|transfer|amount|spend|deposit|investment|booking|transaction)
		(below|above|less than|under) (the)? (minimum|maximum) (order|amount|bid|price|age|value|balance|withdrawal)
		(age|identity|kyc|compliance|fraud|risk|credit|background|aml|sanctions|eligibility|security) (check|checks|verification|screening|requirement|score|review) ...2 (failed|rejected|not passed|required|declined|too low|not met|incomplete)
		(declined|rejected|refused|denied|blocked|flagged) (by|due|because|as|for) ...3 (fraud|risk|underwriting|issuer|merchant|compliance|business|policy|reviewer|moderator|approver|manager|customer|user|the other party|seller|buyer)
		(fraud|fraudulent|suspicious|duplicate) (transaction|order|payment|activity|request|submission|detected|suspected|charge|entry|invoice|application)
		(overdraft|overdrawn|over limit|credit limit|overlimit)
		(double|over) (booked|booking|booked|spend|allocated)
		(time slot|slot|date|seat|room|appointment|table|vehicle|resource) (is)? ...2 (taken|unavailable|booked|occupied|reserved|no longer available|conflicts|overlaps)
		(overlaps|overlapping|collides) (with|an|another)
		(outside|not within|before|after|during) (of)? (business|opening|working|trading|office|market|delivery) (hours|days|window|area|zone)
		market (is)? closed
		(delivery|shipping|service) ...2 (unavailable|not offered|not possible) (to|in|for)
		(parent|child|dependent|related|linked|referencing|associated) (records|objects|resources|entities|items|rows|orders|accounts)? ...2 (exist|exists|still)
		(still|is) (in use|referenced|attached|linked|has dependents|assigned|required by|active subscriptions)
		(in use|depends on|dependency violation|dependent)
		DependencyViolation
		DeleteConflict
		BucketNotEmpty
		(is|are|was) not empty
		(still|contains|has) (children|items|members|objects|files|active|open|pending|unfinished)
		(no longer|not) (accepting|open|possible|offered|allowed for|required|needed|relevant|applicable)
		(nothing|no changes|not anything) (to (do|commit|update|publish|merge|send|refund|capture|process|change)|were made)
		(obsolete|superseded|replaced by|no longer needed)
		(self|own) (transfer|referral|follow|invite|approval|review)
		(requires|needs|awaiting|waiting for|pending|must be) ...2 (approval|approved|signature|confirmation|consent|review|manual review|human review)
		(four eyes|segregation of duties|dual control)
		(quorum|votes|signatures) not (reached|enough)
		(handler|job|task) returned
		message is not modified`},
	{id: "business.word", class: BusinessLogicError, weight: wWeak, phrases: `
		already
		conflict
		(declined|ineligible)
		duplicate
		(precondition|preconditions)
		(cannot|must not) (be)? (cancelled|refunded|changed)
		exists
		(business|rule)`},
}

// contentRules are about what may not be shown, said or copied.
var contentRules = []rule{
	{id: "content.policy", class: ContentViolation, weight: wCode + 4, trait: identifiers, phrases: `
		content blocked
		(content|usage|community|acceptable use|responsible ai|moderation|safety|advertising|trust and safety|spam|anti spam|abuse|content management|content usage|sharing) (policy|policies|guideline|guidelines|standards|rules) !(error in|document|service|engine)
		(email|message|messaging|mail|sms|image|platform|upload|ai|posting) policy (violation|violations|violated|reject|prevented)
		(prohibited by|not allowed by|not permitted by|disallowed by) (our|the|its|your|their|youtube|google|openai|anthropic|meta)? ...1 (terms|terms of service|tos|content policy|usage policies|usage policy|community|guidelines|acceptable use|copyright|safety|code of conduct|moderation|policies)
		(violates|violate|violated|violation of|violating|violations of|breach of|breaches|contrary to|in breach of|infringes|not permitted under|not comply with|not compliant with|against) ...5 (terms|terms of service|tos|community|guidelines|guideline|content policy|usage policies|usage policy|policies|policy|copyright|standards|acceptable use|safety|code of conduct|trademark|intellectual property|rules of conduct|dmca|moderation)
		terms of (service|use) !(link|url|page|must be accepted|not accepted)
		(copyright|trademark|dmca|intellectual property|licensing|content id|rights holder|piracy) (claim|claims|infringement|violation|strike|notice|takedown|complaint|restriction|restrictions|owner|holder|grounds|reasons|material|protected|match|issue|detected|reason|infringing)
		copyright !(notice|c)
		copyrighted
		(taken down|removed|blocked|flagged|rejected|refused|suppressed|muted|withheld|suspended|banned|terminated) (for|due to|because of|by|as|following|under|pursuant to) ...3 (copyright|terms|policy|policies|violation|violating|violates|safety|moderation|abuse|spam|guidelines|legal|content|dmca|infringement|hate|violence|nudity|harmful|sensitive|filter|court)
		(blocked|flagged|withheld|moderated|censored|rejected|refused|stopped|terminated|halted|filtered) (by|because|due to|as a result of|for|reason|as) ...5 (safety|moderation|content filter|content filtering|filters|recitation|content policy|harm|harmful|prohibited content|blocklist|sensitive|inappropriate|toxicity|offensive|nsfw|nudity|explicit|guardrail|guardrails|spii|image safety|responsible)
		(prompt|response|content|candidate|output|image|generation|caption|comment|completion) (was|were|is|has been|have been|being|may have been)? (been)? (blocked|flagged|moderated|filtered|censored|withheld)
		(block|finish|stop|refusal|blocked|blocking) reason ...2 (safety|recitation|prohibited content|blocklist|content filter|image safety|spii|refusal)
		(blocked|finish) reason safety
		FinishReasonSafety
		FinishReasonRecitation
		BlockReasonSafety
		PROHIBITED CONTENT
		RECITATION
		IMAGE SAFETY
		reason safety
		content_filter
		content filtering
		ContentFilter
		ResponsibleAIPolicyViolation
		content_policy_violation
		moderation_blocked
		GuardrailIntervened
		content_moderation
		(hate|harassment|violent|sexual|nude|pornographic|self harm|terrorist|extremist|graphic|obscene|offensive|toxic|abusive|nsfw|adult|sensitive|inappropriate|disallowed|unsafe|harmful|objectionable|indecent|defamatory|racist|hateful|suggestive|malicious|profane|explicit) (content|speech|material|image|images|media|language|activity|imagery|text|category|themes|words|depiction|video|behavior|conduct|intent|minors)
		(hate|harassment|violence|nudity|porn|pornography|csam|gore|profanity|obscenity|self harm|terrorism) (detected|and|or|score|flagged|policy|found)
		sexual (minors|and|or)
		(contains|contain|containing|includes|depicts|classified as|identified as|appears to contain|deemed|considered|marked as|flagged as) ...3 (hate|harassment|violence|sexual|nudity|nsfw|pornographic|copyrighted|offensive|toxic|unsafe|harmful|inappropriate|disallowed content|prohibited content|sensitive content|profanity|adult|explicit|malware|virus|spam|phishing|csam|illegal content|gore|weapons|drugs)
		(safety|moderation|toxicity|nsfw|profanity|nudity) (system|filter|filters|check|checker|ratings|rating|review|violation|violations|classifier|guardrail|reasons|concern|concerns|refusal|blocked|flagged|settings)
		rejected as a result of our safety
		(message|mail|email|content|file|attachment) ...4 (spam|unsolicited|phishing|virus|malware)
		(spam|virus|malware|phishing) (message|content|detected|score|rejected|blocked|found|suspected)
		(cannot|can not|will not|wont) (help|assist|comply) (with)? ...4 (that|request|content)
		refus (to)? (answer|generate|comply|respond)
		model refused
		(account|video|channel|user|content|page|post) ...4 (terminated|removed|suspended|banned) ...5 (violation|violating|copyright|terms|policy|guidelines|infringement)
		(unavailable|withheld|blocked) for legal reasons
		(legal|court) (reasons|order|demand|takedown|removal)
		451 unavailable
		public figure
		(likeness|deepfake|real person|celebrity)
		PII detected
		profanity`},
	{id: "content.code", class: ContentViolation, weight: wCode, trait: codesOnly, phrases: `
		(safety|blocklist|recitation|spii|moderation|copyright|prohibited)`},
}
