package failure

// narrowRules are statements in which one word of many decides: what is used
// up, what exceeds what, whose policy it is, what kind of thing was not found.
// They refine the rules of their families and carry their names.
var narrowRules = []rule{
	{id: "transport.cut", class: NetworkTimeout, weight: wStrong + 6, trait: identifiers, phrases: `
		IncompleteMessage
		incomplete message
		connection closed before message completed
		IncompleteReadError
		ContentLengthError
		TransferEncodingError
		ChunkedEncodingError
		InvalidChunkLength
		payload (is)? not completed
		not enough data ...2 satisfy ...3 (header|length)
		ResponseEnded
		ReadTimeoutError
		ConnectTimeoutError
		HeadersTimeoutError
		BodyTimeoutError
		unexpected end of (stream|file) (on|from) !(position|line)
		end of stream (on|from) (https|http|connection)
		(stream|connection|transfer|download|upload|link|call|line) (broke|broken|breaking|was cut|cut) (off|up|down)
		(lost|losing|no) contact (with|to)
		no (bytes|data|packets|bytes were) (arrived|came|received|read|were received|sent) (for|in|within|after)
		(did not|does not|not) answer (the|a|our|to)? ...1 (ping|request|call|probe|heartbeat|handshake|in time)
		(waited|waiting) <duration> (for|on)
		(sending|receiving|send|receive|reading|writing) (a|the)? ...1 (packet|packets)
		(connection|channel|socket|session) (is|was) not (open|established|alive|open anymore)
		(missed|lost|no|missing) (heartbeat|heartbeats|keepalive|pings)
		KeeperErrorCode (connection loss|session expired|session moved|operation timeout)
		transport connection broken
		client connection lost
		(server|connection|response|peer|host) ...3 failed to respond
		source TimedOut
		ms has passed since
		expiring <number> record`},
	{id: "time.exceeded", class: NetworkTimeout, weight: wCode + 4, trait: identifiers, phrases: `
		(render|job|task|run|step|process|execution|script|request|query|build|command|operation|function|worker|test|transcode|call|statement|handler|transaction|deployment|invocation|activity) (has|had)? (exceed|ran longer|took longer|taken longer|took more|ran for more|ran over) (than)? ...6 <duration>
		(run|ran|running|runs) (for)? too long
		(no|without) (response|reply|answer|result|output|heartbeat) ...3 <duration>
		(killed|terminated|aborted|cancelled|stopped|gave up|giving up) after (running for)? <duration> !(of video|of audio)`},
	{id: "resource.memory.named", class: ResourceConstraint, weight: wDecides + 4, trait: identifiers, phrases: `
		allowed memory size
		memory (size|limit|quota|budget|pool|area|space)? ...7 (exhausted|exceed|reached|used up)
		(exceed|over|above|beyond|reached|hit|past|more than) ...5 memory (limit|quota|budget|cap|allowance|ceiling)
		(exceed|over|above|beyond|reached|hit|past) ...3 <size> ...2 (of)? (memory|ram|rss|heap|vram)
		(memory|ram|rss|heap|vram|resident set) (usage|size|limit|use)? ...3 (exceed|over|above|limit) ...3 <size>
		tried to allocate (more|<size>|<number>)
		(database|mvcc|backend|keyspace) space exceeded
		maxmemory
		near heap limit
		too many ...4 (into|in) memory
		(unable to|cannot|could not|failed to) ...1 (call|create|start) ...1 thread (create)?
		no more (connections|sessions|threads|workers|slots|handles|sockets)
		ER RECORD FILE FULL
		(table|tablespace|index file|datafile|record file|heap table) ...2 is full`},
	{id: "resource.pool.named", class: ResourceConstraint, weight: wCode + 2, trait: identifiers, phrases: `
		(pool|queue|backlog|mailbox) (size|limit|length|capacity)? (was|is|has been|has)? (reached|exhausted|full|exceeded) !(request)
		(max|maximum) (pool|queue|backlog|thread|worker|connection|session) (size|count|limit)
		(all|every) ...1 (pooled|pool|worker|db|database)? (connections|slots|workers|threads|executors|sessions|handles) (were|are|was|is|being)? (currently)? (in use|busy|occupied|used|taken|full|exhausted)
		(executor|executor service|thread pool|task executor|scheduler|work queue) ...4 (did not accept|not accept|rejected|refused|cannot accept|saturated|shut)
		TaskRejectedException
		RejectedExecutionException
		BrokenProcessPool
		BrokenThreadPool
		BrokenExecutor
		(process|worker) pool ...6 (terminated|broken|crashed|died) ...1 abruptly?
		(worker|workers|login|logins|session|sessions|thread|threads|connection|connections|request|requests) limit for the (database|elastic pool|instance|server|pool)
		too many (parts|merges|mutations|pending compactions|compactions|segments|delayed inserts|sstables|tombstones|memtables|flushes|replicas down|open cursors|open statements|prepared statements)
		(compaction|compactions|flush|merge|merges|memtable|wal|commit log) (backlog|queue|debt|is behind|pending|cannot keep up|too slow|stall|throttled)
		write (stall|stalled|stopped)
		(no|not enough|insufficient|out of|zero) ...1 (available|free|idle|spare)? (executor|executors|slot|slots|task slots|threads|gpus|workers|shards|buffers|handles|cores|nodes|encoders|instances) !(found|defined|configured)`},
	{id: "permission.to", class: PermissionError, weight: wStrong + 8, trait: identifiers, phrases: `
		UnauthorizedAccessException
		not authorized (on|for) !(behalf)
		access to (queue|exchange|topic|vhost|virtual host|bucket|repository|index) ...8 (refused|denied)
		not authorized to (perform|access|use|call|invoke|do|create|delete|update|read|write|view|list|make|send|publish|execute|assume|modify|manage)
		AuthorizationFailure
		websocket ...4 1008`},
	{id: "rate.grpc", class: RateLimitExceeded, weight: wCode, phrases: `
		exhausted ...6 quota
		(status|status runtime) exception resource exhausted`},
	{id: "service.away", class: TemporaryServiceError, weight: wSaid + 4, phrases: `
		going away
		(close|closed) (code|with|status)? ...1 (1001|1012|1013)
		(service|server|pod|node) restart`},
	{id: "quota.cap", class: QuotaExceeded, weight: wCode + 6, trait: identifiers, phrases: `
		(transaction|transactions|storage|download|upload|bandwidth|class b|usage|data|traffic|account|egress|spending|message|api|credit) (cap|caps|allowance|allotment) (is|was|has been|have been)? (exceed|reached|hit|used up|exhausted)
		(cap|caps|allowance) ...2 (exceed|exhausted|used up)
		total requests limit exceeded
		(limited to|limit is|limit of|limit|allows|maximum of|up to|only|allowance of|includes) ...2 <number> ...4 (day|week|month|year)
		<number> (api)? (calls|requests|messages|emails|credits|minutes|searches|units|tokens|renders|characters|images|pages) (per|a|an|every|each|in a)? (day|week|month|year|24 hours)
		size quota
		quota <any> (is|was|has been)? exceed
		(reached|exceed|over) (its|the|your) ...2 quota
		regain access (on|at|in|after)
		usage limits? (reached|exceed|hit|for)
		specified (api)? usage limit`},
	{id: "permission.policy", class: PermissionError, weight: wDecides + 6, trait: identifiers, phrases: `
		(denied|blocked|not allowed|prohibited|forbidden|rejected|disallowed|refused|not permitted|prevented|restricted) by ...3 (security|network|organization|organisation|firewall|group|conditional access|access|iam|admission|egress|ingress|company|corporate|admin|password|resource|seccomp|apparmor|selinux|imagemagick|delegation|bucket|key) (policy|policies|rule|rules|profile)
		(security|network|organization|conditional access|access|org|group|apparmor|selinux|seccomp) policy ...3 (denied|blocks|blocked|forbids|prohibits|rejected|does not allow|violation)
		(missing|insufficient|lacking|lacks|invalid|required) ...2 (scope|scopes|permissions for this operation)
		(not|no) ...2 access to (the|this|that)? (model|project|resource|organization|deployment|engine|feature|endpoint|repository|dataset|workspace)
		(resource|endpoint|api|feature) not accessible by (integration|personal access token|app|token)
		disabled comments
		comments (are|have been)? (disabled|turned off|closed)
		(user|serviceaccount|group|role) ...12 cannot (list|get|create|delete|update|patch|watch|impersonate|bind) (resource|resources)?`},
	{id: "validation.constraint", class: ValidationError, weight: wCode + 6, trait: identifiers, phrases: `
		(violates|violated|violation of|violation) (the)? (check|not null) (constraint|rule)
		(check|not null) (constraint|check) ...3 (violated|failed|violation|fails)
		failed to parse (field|date|value|query|mapping|setting|document)
		(mapper|query|document|x content) parsing exception`},
	{id: "validation.admission", class: ValidationError, weight: wDecides + 6, trait: identifiers, phrases: `
		admission webhook ...5 denied
		(blocked|denied|rejected) due to the following (policies|policy|violations|errors|rules)
		refers to (an|a)? (unknown|undefined|missing|nonexistent|unsupported)
		violates PodSecurity`},
	{id: "validation.form", class: ValidationError, weight: wStrong + 1, trait: identifiers, phrases: `
		!(checksum|signature|certificate|token|hash|crc|integrity|chain|path|credential|digest|cert) validation (failed|error|errors|exception|failure)
		<number> validation (error|errors)
		(given|submitted|posted|supplied|request) (data|input|form|fields|values) (is|was|were|are) invalid
		(cannot|could not) (deserialize|unmarshal|coerce|bind)
		unsupported operand
		IllegalArgumentException
		RecordInvalid
		(is|are) not a member of enum`},
	{id: "notfound.exec", class: NotFound, weight: wCode + 4, trait: identifiers, phrases: `
		exec ...6 (executable file not found|no such file or directory|notfound in path)
		(runtime|runc|crun|containerd|oci) ...16 (executable file not found|no such file or directory)
		required but not found
		no query results for model
		(record|row|object|entry) to (update|delete|modify|connect|disconnect) (notfound|noexist)
		does not appear to have (a|any) (file|files) named
		(is not|not) a (local folder|known model|valid model identifier)
		(model|deployment|engine|version) ...5 (decommissioned|retired|shut down|sunset|no longer available)`},
	{id: "notfound.said", class: NotFound, weight: wSaid - 2, phrases: `
		there (is|are) no <value> (with|named|called|by|at|for|of)
		(nothing|nobody|no one) (at|under|by|with) (this|that) (address|name|path|id|url|number)
		(is|are) not there
		isnt there
		no <value> with (id|name|key|number|the id|that id|that name|this id)
		KeeperErrorCode no node
		zero results
		(requested|specified|given|referenced) ...3 (was|is|has been|were) (purged|deleted|removed|dropped|erased|expunged)`},
	{id: "service.notready", class: TemporaryServiceError, weight: wStrong + 2, trait: identifiers, phrases: `
		(reads|writes|read|write|requests|connections|queries|commands|traffic) (is|are|was|were)? (currently|being|temporarily|all)? (refused|suspended|paused|halted|stopped) !(by policy)
		(is|are) (currently|now|still)? (electing|being (updated|created|deleted|modified|provisioned|rebuilt|restored|replaced|reindexed|repaired|drained|upgraded|deployed|rotated|rebalanced|reloaded|restarted|resized|moved))
		(too old resource version|resource version ...1 too old)
		(another|other|some other|previous) (import|export|job|run|build|deployment|sync|upload|migration|backup|worker|writer|process|task|operation|render) (is|was)? (still|already|currently)? (running|active|in progress|busy|underway)
		(changed|modified|updated) (while|during|between) ...6 (retry|try again|rerun|reload)
		(rebuilding|restoring|reindexing|redeploying|electing|failing over) !(it)
		no (cluster|raft|group|partition|current|active|elected) (leader|primary|master|coordinator)
		(vault|keystore|database) is sealed
		(osd|node|nodes|shard|host|hosts|member|replica|replicas|server|link|site|backend) (is|are|went|marked)? down !(load)
		(engine|runner|server|worker|daemon|service|backend|agent|executor|broker|renderer) (is|has|was)? (unexpectedly|suddenly)? (dead|stopped|stopping)
		DevToolsActivePort
		(writes|reads|requests) are (blocked|paused) (while|during|until)
		(in|is in|entered) (safe|maintenance|recovery|standby|degraded) mode
		(ErrImagePull|ImagePullBackOff)
		not enough (in sync)? replicas
		(server|service|node|broker|cluster|database|storage|instance|backend|controller|agent|daemon|provider|engine|replica|leader|coordinator) (is|was|has)? (not|not yet) (been)? (initialized|initialised|ready|started|bootstrapped|up|available|online|running)
		(currently|is|still|are|being|now) (restarting|initialising|initializing|reloading|rebooting|warming up|starting up|spinning up|booting|loading|deploying|recovering|rebalancing|resyncing|failing over|migrating|compacting)
		(error|problem|failure) ...3 (processing|handling|authorizing|charging) (of)? (your|the|this)? (card|payment) !(details)`},
	{id: "payment.processing", class: TemporaryServiceError, weight: wCode, trait: codesOnly | ingForm, phrases: `
		processing_error`},
	{id: "auth.directory", class: AuthenticationFailure, weight: wStrong + 6, trait: identifiers, phrases: `
		AcceptSecurityContext
		LdapErr ... data (52e|525|530|531|532|533|701|773|775)
		invalid bind
		bind failed
		not a valid (api key|token|credential)`},
	{id: "business.published", class: BusinessLogicError, weight: wStatus + 3, trait: identifiers, phrases: `
		(article|post|page|product|entry|document|video|draft|record|item|course|listing|episode|campaign|form|version|release|story|book) ...12 (is|was|has)? not (been)? (yet)? (published|approved|activated|released|live|public yet|reviewed|signed|started|opened|finalized)
		not (yet)? (published|mergeable|finalized)
		(head|base|branch|object|document|resource|record|item|row|content|head branch|base branch|ref|sha) (was|has been|is) (modified|changed|updated|moved|edited) !(successfully)
		(is|are|has been|have been|was) archived
		archived and (read only|cannot)
		(pull request|merge request|branch) (is)? not mergeable
		(the)? (object|item) has been modified
		(not|isnt) a fast forward
		non fast forward
		out of date with`},
	{id: "limit.longest", class: InputExceedsLimits, weight: wStrong + 3, trait: identifiers, phrases: `
		(window|page size|batch size|offset|chunk|fetch size|result set|query result) (is)? too (large|big|deep)
		size must be (between|at most|less|under|below|smaller|within)
		(longest|largest|biggest|widest|tallest|highest|heaviest|greatest) (accepted|allowed|supported|permitted|possible|text|file|video|audio|image|message|input|recording|clip|document|upload|size|length|duration|value|is)
		(larger|longer|bigger|wider|taller|greater|more) than the <number>
		(larger|longer|more) than the ...3 (accepted|allowed|supported|permitted|we accept|can take|takes|are allowed)
		(is|are|has|have|was) <number> ...4 (long|large|wide|high|tall|heavy|characters long|pages|tokens) ...4 (only|at most|maximum|max|limit|longest|accepts|takes|allowed|up to|no more)
		(has|have|contains|is|are|with) <number> (pages|tokens|characters|words|rows|columns|items|files|frames|images|slides|chapters|tracks|elements|bytes) ...6 (only|at most|maximum|max|limit|takes|allowed|up to|no more|accepts|supports) ...3 <number>`},
	{id: "service.responses", class: TemporaryServiceError, weight: wStatus, phrases: `
		too many (500|502|503|504|520|530) (error)? (responses|replies|answers|errors)`},
	{id: "db.constraint.type", class: BusinessLogicError, weight: wSaid - 4, trait: identifiers, phrases: `
		ConstraintViolation
		ConstraintViolationException`},
	{id: "bug.answer.unread", class: UnknownError, weight: wStatus + 6, phrases: `
		(cannot|could not|failed to|unable to|error) (parse|parsing|decode|decoding|unmarshal|deserialize|interpret) (the|a|an|its|json|our)? ...1 (response|reply|answer) !(format|model|schema|type)`},
	{id: "rate.limit.faint", class: RateLimitExceeded, weight: wFaint + 4, phrases: `
		!(size|length|depth|time|memory|heap) limit (is|was|has been)? (reached|hit)`},
	{id: "dns.faint", class: TemporaryServiceError, weight: wFaint, phrases: `
		cannot resolve !(column|field|type|symbol|module|import|path|reference|variable|class|method|function|plugin|dependency|dependencies|conflict|conflicts|overload|package)`},
	{id: "net.weak", class: NetworkTimeout, weight: wFaint, phrases: `
		(io|transport|client|request|url) (error|exception)`},
}
