package failure

// databaseRules are what databases say beside their codes.
var databaseRules = []rule{
	{id: "db.conflict", class: TemporaryServiceError, weight: wCode, trait: identifiers, phrases: `
		(used|opened|locked|held|in use|owned|accessed) by (another|a different|other|some other) (process|program|application|job|worker|session|user|instance|task|client|transaction|thread|host)
		(used|held|locked|owned) by process
		concurrently (updated|modified|changed|deleted|accessed|running)
		(unable to|cannot) lock
		waiting for ...3 lock
		another instance of
		(lock|lease) ...3 (held|owned|taken) by
		(deadlock|deadlocked) !(risk)
		deadlock (found|detected|victim)
		deadlock victim
		(could not|cannot) serialize
		serialization (failure|error|conflict|anomaly)
		serialize access
		(write|transaction|commit|update|read write|snapshot) conflict
		WriteConflict
		(transaction|txn|tx) (was|has been|is|had|got)? (been)? (aborted|rolled back|retry|conflict|conflicted|restart|too old|deadlocked|cancelled due|could not be committed|in progress exception)
		(restart|retry|rerun|redo) (the|your|this)? transaction
		transaction (retry|restart|conflict|aborted|contention|in conflict)
		TransientTransactionError
		UnknownTransactionCommitResult
		RetryableWriteError
		TransactionConflict
		TransactionCanceledException
		TransactionInProgressException
		ConflictException
		OperationAborted
		ConcurrentModification
		ConcurrencyException
		lock wait timeout
		(lock|row lock|table lock|latch|lease|mutex|advisory lock|semaphore) ...3 (timeout|timed out|not available|unavailable|wait|contention|conflict|could not|busy|held|taken|request time out|acquire|obtained|is held)
		(cannot|could not|unable to|failed to|failed) (acquire|obtain|get|take|acquiring|obtaining|lock) ...2 (lock|lease|mutex|semaphore|advisory lock|row|latch)
		(database|table|schema|row|record|file|resource|db|state|index|tuple|document|object|repository|workspace|dpkg|apt) (is|was|already|currently)? (is)? locked !(out|by user|by administrator|account)
		SQLITE BUSY
		SQLITE LOCKED
		database is locked
		database table is locked
		state lock
		index lock
		another (process|git process|instance|operation|transaction|update|client|session|user|copy|request|job|worker) (is|has|seems|holds|running|already|in progress)
		(operation|update|deployment|change|migration|request|backup|snapshot|another operation) (is|already|currently)? in progress
		(resource|object) (is)? (contended|contention)
		too much contention
		contention (on|these|detected)
		(aborted|abort) due to (concurrent|conflict|contention)
		concurrent (update|modification|transaction|write|access|change)
		could not obtain lock
		NOWAIT
		snapshot (too old|isolation)
		(optimistic|concurrency) ...2 retry
		RETRY SERIALIZABLE
		RETRY WRITE TOO OLD
		ReadWithinUncertaintyInterval
		restart read required`},
	{id: "db.state", class: TemporaryServiceError, weight: wStrong + 2, trait: identifiers, phrases: `
		SQLITE IOERR
		SQLITE CANTOPEN
		(database|server|system|cluster|instance|mysql|postgres|mariadb|redis|mongodb|oracle|elasticsearch) (system)? (is)? (in)? (starting up|shutting down|in recovery|recovery mode|not yet accepting|not accepting|in standby|in restricted|being upgraded|mounting|closing|stopped|suspended|not open|paused|restoring|being recovered|auto closing|offline)
		not yet accepting connections
		hot standby
		conflict with recovery
		terminating connection due to (administrator|conflict|crash|idle)
		terminating connection
		administrator command
		(server|database|primary|master) (was|is|has been)? (shut down|shutdown|restarted|restarting|stopped|going down)
		(server)? shutdown in progress
		server shutdown
		(is|not|the) (not)? (a)? (primary|master|writable) (node|member|replica)?
		NotWritablePrimary
		NotPrimaryNoSecondaryOk
		not master
		PrimarySteppedDown
		InterruptedDueToReplStateChange
		InterruptedAtShutdown
		NoPrimary
		replica set ...3 (no primary|not reachable|down|unavailable)
		no primary
		MASTERDOWN
		CLUSTERDOWN
		hash slot not served
		LOADING redis
		loading the dataset
		redis is loading
		TRYAGAIN
		MOVED <number>
		ASK <number>
		BUSY redis
		busy running a script
		NOREPLICAS
		READONLY you cannot write
		write against a read only replica
		(server|mysql|mariadb|instance) ...5 read only
		read only (replica|mode|option|node|server|state)
		cannot execute <value> in a read only transaction
		(transaction|connection) ...3 (idle|killed|terminated) ...2 (timeout|session|administrator)
		MISCONF
		stop writes on bgsave
		(search|all) shards failed
		all shards failed
		no shard available
		(shard|shards|primary shard) ...4 (unavailable|not active|failed|timeout|unassigned|missing)
		unavailable_shards_exception
		master_not_discovered_exception
		cluster_block_exception
		NoNodeAvailable
		NoHostAvailable
		NoServersAvailable
		(unavailable|write timeout|read timeout|overloaded) exception
		(cannot|could not) achieve consistency
		(not)? enough replicas
		replication (lag|behind|is behind|slot is active)
		(query|connection) (was)? killed
		query execution was interrupted
		(the)? kill (command|signal)
		node is (not)? (ready|bootstrapping|joining|down)
		range unavailable
		(tablet|region|raft) (server)? ...2 (not|unavailable|leader|split|epoch)
		result is ambiguous
		commit (outcome|result|state) unknown
		EpochNotMatch
		region is unavailable
		server is busy
		prepared statement ...3 (does not exist|already exists|no longer exists)
		cached plan must not change
		conn busy
		current transaction is aborted`},
	{id: "db.constraint", class: BusinessLogicError, weight: wStrong + 4, trait: identifiers, phrases: `
		SQLITE CONSTRAINT
		ER DUP (ENTRY|KEY|UNIQUE)
		ER (ROW IS REFERENCED|NO REFERENCED ROW)
		dup key
		duplicate (key|entry|value|record|row|document|primary key|object|id|name|item|unique|index key|keys|error collection|user|email)
		(unique|primary key|foreign key|check|exclusion|referential|uniqueness|not null|integrity|reference|referential integrity|unique key) (constraint|index|violation|constraints|key|contraint) ...3 (violated|violation|failed|fails|failure|error|violates|conflict)?
		(violates|violated|violation of|violating|conflicts with) ...3 (unique|foreign|primary|check|exclusion|constraint|referential|integrity|key) (key|constraint|index)?
		E11000
		IntegrityError
		IntegrityConstraintViolation
		UniqueViolation
		UniqueConstraintViolation
		ForeignKeyViolation
		ForeignKeyConstraintViolation
		SequelizeUniqueConstraintError
		DuplicateKeyException
		DuplicateKeyError
		RecordNotUnique
		DataIntegrityViolationException
		ConstraintError
		(cannot|could not) (add or update|delete or update|insert duplicate|delete a parent|add a child) ...2 (row|key|child|parent|record)?
		cannot (delete|drop|truncate) ...6 (depend|dependency|referenced|foreign|because other|still)
		other objects depend
		(still|is) referenced
		is not present in table
		already exists in table
		BUSYGROUP`},
	{id: "db.statement", class: ValidationError, weight: wStrong + 2, trait: identifiers, phrases: `
		SQLITE (MISMATCH|RANGE|SCHEMA|MISUSE|ERROR)
		ER (BAD NULL ERROR|BAD FIELD ERROR|PARSE ERROR|NO SUCH TABLE|BAD TABLE ERROR|TRUNCATED WRONG VALUE|WRONG VALUE COUNT|NO DEFAULT FOR FIELD|DATA OUT OF RANGE|NON UNIQ ERROR|WRONG FIELD WITH GROUP|SYNTAX ERROR|UNKNOWN SYSTEM VARIABLE|SP DOES NOT EXIST|DIVISION BY ZERO)
		(column|relation|table|function|schema|operator|type|view|sequence|procedure|trigger|index|extension|aggregate|language|collation|cast|role|savepoint|cursor|prepared statement|constraint|field|attribute|alias|database) ...3 does not exist
		(unknown|no such|invalid|undefined|ambiguous|missing|nonexistent) (column|table|function|procedure|operator|collation|character set|relation|identifier|object name|column name|view|field in|aggregate|savepoint|prepared statement|storage engine)
		no such (table|column|function|collation|module|savepoint|view|trigger)
		(column|identifier) ...2 (ambiguous|notfound|unknown|invalid|noexist)
		table ...2 (ambiguous|unknown)
		table or view does not exist
		(column|columns|value|values|field) count does not match
		column ... cannot be null
		=cannot be =null
		(null value|null values|not null) ...5 (constraint|not null|column|violates|not allowed)
		(value|data|string|number|numeric|integer|bigint|smallint|timestamp|date) ...3 out of range
		(invalid|incorrect) input (syntax|value)
		invalid (text|byte|input|datetime|escape|parameter) ...2 (representation|sequence|syntax|format|string|value)
		(incorrect|truncated incorrect|out of range|invalid) (integer|datetime|date|string|decimal|double|time|value|float|json) (value|text|format|for)?
		numeric field overflow
		arithmetic overflow
		operand type clash
		conversion failed when converting
		could not determine data type
		more than one row
		(wrong|incorrect) (number|type) of ...2 (arguments|parameters|columns|values)
		syntax error (at|in|near|or)
		sql (syntax|command not properly ended|compilation error|statement)
		(group by|aggregate|having|order by) ...4 (must|invalid|cannot|not allowed)
		must appear in the group by
		operator does not exist
		cannot (cast|coerce|compare|insert explicit|insert null|insert the value)
		column name or number of supplied values
		WRONGTYPE
		NOSCRIPT
		EXECABORT
		CROSSSLOT
		wrong kind of value
		ERR (syntax|unknown|wrong|value|invalid|no such|index|bit|increment|hash|min or max|offset)
		unknown command
		value is not (an integer|a valid)
		(index|mapping|document|query) ...2 (parsing|failed to parse|mapping|shard) exception
		(unknown|bad|invalid) (operator|top level operator|update operator|query operator|modifier|pipeline stage)
		document failed validation
		cannot scan (null|into)
		destination (pointer|must|not a pointer)
		expected <number> arguments
		(sql|query|result) ...4 expected ...4 (arguments|columns|destination)
		converting (null|argument|driver) ...3 (unsupported|to|type)
		inconsistent datatypes
		SchemaError
		InvalidSchema
		ProgrammingError
		DataError
		NotSupportedError
		StatementInvalid`},
}

// brokerRules are what brokers of messages say: the names of Kafka's errors, the
// replies of AMQP, NATS, Pulsar and the like.
var brokerRules = []rule{
	{id: "broker.retriable", class: TemporaryServiceError, weight: wCode, trait: identifiers, phrases: `
		delivery acknowledgement ...4 timeout
		acknowledgement on channel
		LEADER NOT AVAILABLE
		NOT LEADER (FOR PARTITION|OR FOLLOWER)
		NotLeaderForPartition
		REPLICA NOT AVAILABLE
		COORDINATOR (LOAD IN PROGRESS|NOT AVAILABLE)
		GROUP (LOAD IN PROGRESS|COORDINATOR NOT AVAILABLE)
		NOT COORDINATOR
		NotCoordinatorForGroup
		NOT ENOUGH REPLICAS
		REBALANCE IN PROGRESS
		(group|consumer group) (is)? rebalancing
		(UNKNOWN MEMBER ID|ILLEGAL GENERATION|FENCED INSTANCE ID|MEMBER ID REQUIRED|STALE MEMBER EPOCH|FENCED MEMBER EPOCH|UNRELEASED INSTANCE ID)
		(KAFKA STORAGE ERROR|BROKER NOT AVAILABLE|NOT CONTROLLER|PREFERRED LEADER NOT AVAILABLE|ELIGIBLE LEADERS NOT AVAILABLE|FETCH SESSION (ID NOT FOUND|TOPIC ID ERROR)|INVALID FETCH SESSION EPOCH|UNKNOWN LEADER EPOCH|FENCED LEADER EPOCH|OFFSET NOT AVAILABLE|CONCURRENT TRANSACTIONS|UNSTABLE OFFSET COMMIT|LISTENER NOT FOUND|ELECTION NOT NEEDED|CORRUPT MESSAGE|REASSIGNMENT IN PROGRESS|STALE BROKER EPOCH|OPERATION NOT ATTEMPTED|BROKER ID NOT REGISTERED|UNKNOWN TOPIC ID|INCONSISTENT TOPIC ID|TRANSACTION ABORTABLE)
		KafkaError
		KafkaJSConnectionError
		KafkaJSRequestTimeoutError
		KafkaTimeoutError
		NoBrokersAvailable
		(local:)? (broker transport failure|all broker connections are down|queue full)
		RD KAFKA RESP ERR (TRANSPORT|ALL BROKERS DOWN|QUEUE FULL|MSG TIMED OUT|TIMED OUT)
		larger than available brokers
		CommitFailedError
		CommitFailedException
		offset commit failed
		CONNECTION FORCED
		RESOURCE LOCKED
		channel (closed|exception) by server
		consumer cancelled by server
		(nack|nacked|not acknowledged|negatively acknowledged|unacked|not confirmed) ...3 (broker|by|server|message|returned)
		nats: (no responders|timeout|connection closed|slow consumer|stale connection|no servers)
		no responders
		slow consumer
		jetstream ...3 (unavailable|temporarily)
		(memory|disk) (resource)? alarm
		connection blocked
		ProducerBlockedQuotaExceeded
		(topic|partition|bundle|ledger|namespace bundle) ...4 (not served|being unloaded|temporarily unavailable|is fenced|fenced)
		ServiceNotReady
		MetadataError
		TopicTemporarilyUnavailable
		shard ...2 iterator expired
		ExpiredIteratorException
		(visibility timeout|receipt handle) ...2 expired`},
	{id: "broker.topic", class: NotFound, weight: wStrong + 4, trait: identifiers, phrases: `
		UNKNOWN TOPIC OR PARTITION
		UNKNOWN TOPIC
		UnknownTopicOrPart
		(does not|not) host this topic
		no (queue|exchange|consumers|vhost) (in vhost|for|found|named|to)
		NO ROUTE !(to)
		NO CONSUMERS
		GROUP ID NOT FOUND
		NOGROUP
		UNKNOWN SUBSCRIPTION
		TRANSACTIONAL ID NOT FOUND
		(stream|consumer|queue|topic|subscription|exchange) not found
		AWS SimpleQueueService NonExistentQueue
		(queue|topic) does not exist`},
	{id: "broker.invalid", class: ValidationError, weight: wStrong + 2, trait: identifiers, phrases: `
		(INVALID (TOPIC EXCEPTION|REQUIRED ACKS|PARTITIONS|REPLICATION FACTOR|REPLICA ASSIGNMENT|CONFIG|TIMESTAMP|GROUP ID|SESSION TIMEOUT|COMMIT OFFSET SIZE|PRODUCER EPOCH|TXN STATE|TXN TIMEOUT|RECORD|PRINCIPAL TYPE|FETCH SIZE|REGISTRATION|REGULAR EXPRESSION|PRODUCER ID MAPPING)|UNSUPPORTED (VERSION|FOR MESSAGE FORMAT|COMPRESSION TYPE|SASL MECHANISM|ASSIGNOR)|INCONSISTENT GROUP PROTOCOL|OFFSET METADATA TOO LARGE|DUPLICATE SEQUENCE NUMBER|OUT OF ORDER SEQUENCE NUMBER|ILLEGAL SASL STATE|TOPIC ALREADY EXISTS|NON EMPTY GROUP|UNKNOWN PRODUCER ID)
		PRECONDITION FAILED (inequivalent|unknown|delivery)
		inequivalent arg
		(FRAME ERROR|SYNTAX ERROR|COMMAND INVALID|UNEXPECTED FRAME|CHANNEL ERROR)
		unknown delivery tag
		INVALID TOPIC
		OFFSET OUT OF RANGE
		(serialization|deserialization) (exception|error)
		(schema|subject) ...3 (not found|incompatible|not registered)`},
	{id: "broker.rights", class: PermissionError, weight: wStrong + 4, trait: identifiers, phrases: `
		(TOPIC|GROUP|CLUSTER|TRANSACTIONAL ID|DELEGATION TOKEN) AUTHORIZATION FAILED
		SECURITY DISABLED
		permissions violation`},
	{id: "broker.auth", class: AuthenticationFailure, weight: wStrong + 6, trait: identifiers, phrases: `
		SASL AUTHENTICATION FAILED
		ACCESS REFUSED
		login was refused
		authorization violation
		DELEGATION TOKEN (EXPIRED|NOT FOUND|AUTH DISABLED)
		user authentication (expired|revoked)`},
}
