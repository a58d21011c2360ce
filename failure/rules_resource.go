package failure

// resourceRules are about memory, disk, handles and workers that ran out.
var resourceRules = []rule{
	{id: "resource.memory", class: ResourceConstraint, weight: wCode, trait: identifiers, phrases: `
		out of (memory|mem|heap|ram|vram|heap space|shared memory|swap|device memory|host memory|stack space|gpu memory|video memory|pooled memory)
		outofmemory
		OutOfMemoryError
		OutOfMemoryException
		MemoryError
		ENOMEM
		ENOBUFS
		OOMKilled
		oomkilled
		oom (killed|kill|killer|command|score|error|exception)
		(cannot|could not|unable to|failed to|error|failure|failed) (allocate|allocating|reserve|map|malloc|obtain) (memory|<number>|<size>|more|any|enough|buffer|block|the|a|heap|space|pages|gpu|frame|host|device|additional|region|required|bytes)
		(memory|heap|malloc|buffer|gpu memory) (allocation|alloc) (failed|failure|error|of <size> failed|of <number> bytes failed)
		(allocation|malloc|alloc|mmap|calloc|realloc) (failed|failure|error|of <number>)
		bad alloc
		std bad alloc
		bad_alloc
		(memory|heap|ram|swap|vram|shm|shared memory|gpu memory|heap memory|memory limit|memory quota|memory budget|jvm memory|container memory|java heap space|metaspace|permgen|direct buffer memory|stack memory) (is|was|has|have|are)? (been)? (exhausted|exceed|full|depleted|insufficient|low|pressure|exhaustion|shortage|limit exceeded|limit reached|unavailable|over|too high|reached|overcommit)
		(insufficient|not enough|no|low|lack of|exceeded|exhausted|excessive|limited|low on|ran out of|running out of|available|free) ...2 (memory|ram|heap|swap|vram) !(of|leak)
		(memory|ram) (usage|consumption|limit|footprint|utilization) ...3 (exceed|reached|too high|over|hit|killed|above)
		exceeded ...4 memory (limit|usage|quota)
		(java)? heap space
		gc overhead
		reached heap limit
		heap out of memory
		allocation failed
		(killed|terminated|stopped|evicted) ...4 (memory|oom)
		cuda ...3 (out of memory|oom|alloc)
		cublas status alloc failed
		insufficient (memory|cpu|gpu|resources|disk|system resources|server memory|ephemeral)
		not enough storage is available to process
		paging file is too small
		perhaps out of memory
		worker terminated due to memory
		memory limit
		used memory
		virtual memory exhausted
		bufferpool ...3 exhausted
		(no|low) free memory`},
	{id: "resource.disk", class: ResourceConstraint, weight: wDecides + 4, trait: identifiers, phrases: `
		no (space|room|free space|disk space|storage space) (is|was)? (left|available|remaining|on)
		no space
		ENOSPC
		EDQUOT
		disk (is|was|space)? (been)? (full|exhausted|out|low|insufficient|exceeded|quota exceeded|limit exceeded|usage exceeded|write error|watermark|flood stage|pressure)
		(disk|filesystem|file system|volume|device|partition|drive|tablespace|tempdb|log|transaction log|temp|storage|datafile|root filesystem|inode|temporary storage) (is|was|space|has|out of|space is)? (full|exhausted|out of space|no space|no free space|ran out|running out)
		(insufficient|not enough|out of|no|low|low on|ran out of|running out of|lack of) ...1 (disk|storage|filesystem|ephemeral storage|disk space|free space|space|inodes|temp space|tablespace|free disk|drive space) !(quota|account|unit|class)
		(there is|is) not enough space
		InsufficientStorage
		insufficient storage
		disk quota
		storage full
		(could not|cannot) extend file
		free up space
		not enough free space
		database or disk is full
		SQLITE FULL
		write error: no space`},
	{id: "resource.handles", class: ResourceConstraint, weight: wCode, trait: identifiers, phrases: `
		too many (open)? (open files|files open|open file|file descriptors|open sockets|open file descriptors|handles|fds|threads|processes|open handles)
		too many open
		EMFILE
		ENFILE
		EUSERS
		WSAEMFILE
		WSAENOBUFS
		(file)? (descriptor|descriptors|handle|handles|inotify|file watchers|fd|ulimit|nofile|socket|sockets|ephemeral port|local ports|source ports|pid|pids|nproc|epoll) ...3 (limit|exhausted|exhaustion|exceed|table overflow|ran out|reached)
		(threads|process|processes) (limit|exhausted|exhaustion|table overflow)
		(fork|clone|vfork|thread|spawn|pthread create|new process|new thread|native thread) ...4 (resource temporarily unavailable|cannot allocate|failed|limit|EAGAIN|retry|unable to create)
		unable to create (new)? (native)? thread
		(cannot|could not|unable to|failed to|can't) (start|create|fork|spawn|launch) ...2 (thread|new thread|native thread|goroutine)
		(cannot|could not|unable to|failed to|can't) (fork|spawn) ...2 (process|worker|child)
		cannot fork
		cant start new thread
		resource temporarily unavailable
		EAGAIN
		EWOULDBLOCK
		WSAEWOULDBLOCK
		EINTR
		EINPROGRESS
		EALREADY
		EBUSY
		ETXTBSY
		EDEADLK
		ENOLCK
		interrupted system call
		stale (nfs)? file handle
		(device|resource|file|text file) (or resource)? (is)? busy
		operation would block
		(system|process|kernel) (limit|limits|resources) ...2 (reached|exceed|exhausted)`},
	{id: "resource.pool", class: ResourceConstraint, weight: wStrong + 2, trait: identifiers, phrases: `
		ER (CON COUNT ERROR|TOO MANY USER CONNECTIONS|OUT OF RESOURCES)
		TOO MANY PARTS
		too many (parts|merges|mutations|bulk|scroll contexts|search contexts|shards open)
		(connection|thread|worker|session|buffer|db|database|client|memory|object|channel|http|redis|browser|queue) pool ...2 (exhausted|timeout|full|limit|reached|overflow|empty|depleted|max|saturated|starved|wait)
		(timed out|timeout|waiting|waited|wait|unable|cannot|could not|failed) ...6 (connection|slot|session|client|resource|worker) from (the)? (connection)? pool
		(acquire|acquiring|obtain|get|checkout|getting|borrow|obtaining|fetch) (a|an|the)? ...2 (connection|client|session|slot|worker|lease) ...3 (timeout|pool|timed out|failed|within|slot)
		(connection|request) is not available request timed out
		pool (exhausted|timeout|is full|overflow|limit|size limit)
		queuepool limit
		(remaining|all|no more|no free|no available|too many|maximum|max|no|out of) ...2 connection (slots|slot|are|limit|is|available|left|in use|reserved|used)
		sorry too many clients
		too many (connections|clients) already
		(remaining)? connection slots
		(max|maximum) (number of)? (clients|connections|client connections|user connections|sessions|processes|cursors) ...3 (reached|exceed|allowed)
		max_connections
		max user connections
		too many active (connections|sessions)
		(session|license|cursor|process) limit (exceeded|reached)
		(no|zero|all|insufficient|not enough|out of) ...1 (free|available|idle|remaining)? (workers|worker|gpu|gpus|slots|slot|nodes|cpus|cores|executors|instances|machines|agents|runners|pods|containers|threads|sessions|browsers|encoders|encoder sessions|compute|compute resources|cpu|quota of pods|resources) ...2 (available|free|left|busy|in use|exhausted|are|to schedule|match|found)?
		(nodes|node) are available
		(unschedulable|failed scheduling|FailedScheduling|FailedCreatePodSandBox)
		InsufficientInstanceCapacity
		InsufficientCapacity
		ZONE RESOURCE POOL EXHAUSTED
		stockout
		SkuNotAvailable
		AllocationFailed
		OverconstrainedAllocationRequest
		(resource|resources) (is|are|have|has|was|were)? (been)? (exhausted|constrained|depleted|insufficient|starved|limit exceeded|limits exceeded|limit reached|unavailable|constraint|constraints|starvation|pressure|not sufficient)
		ResourceExhausted
		RESOURCE EXHAUSTED
		(exhausted|insufficient|not enough|lack of|lacking|low) ...2 (resources|cpu|capacity|gpu|compute|bandwidth|workers|threads|nodes)
		exceeded quota
		(cpu|gpu|compute) (limit|time|quota|usage|budget) ...2 (exceed|exhausted|reached|throttled|unavailable)
		(cpu)? time limit exceeded
		exceeded resource
		(worker|pod|container|node|task|job) (was|has been|got)? (evicted|preempted)
		(evicted|eviction|preempted|preemption) !(policy)
		no (free|available) (encode|decode|gpu|hardware) (session|sessions|device|devices)
		OpenEncodeSessionEx failed
		shared memory segment
		max locks per transaction
		(index|cluster) ...3 read only allow delete`},
	{id: "resource.breaker", class: ResourceConstraint, weight: wDecides + 8, trait: identifiers, phrases: `
		circuit_breaking_exception
		CircuitBreakingException
		parent data too large
		data too large data for`},
	{id: "resource.killed", class: ResourceConstraint, weight: wStrong, trait: identifiers, phrases: `
		SIGKILL
		signal killed
		(signal|killed by signal|terminated by signal|exited on signal|died with signal) 9
		(was|got|been|process|worker|job|task|child|container|command|subprocess|ffmpeg|it) killed !(timeout)
		killed (process|by (the)? (oom|kernel|system|signal|os|supervisor|watchdog|operating system))
		kill signal 9
		exit (code|status) 137`},
	{id: "resource.word", class: ResourceConstraint, weight: wFaint + 4, phrases: `
		!(in|the|loving|shared|read only|non volatile) memory !(of|store|cache|db|database|address|card|high)
		killed
		oom
		!(retries|attempts) exhausted`},
}

// processRules are about programs that were run.
var processRules = []rule{
	{id: "process.crash", class: UnknownError, weight: wSaid, trait: identifiers, phrases: `
		SIGSEGV
		SIGBUS
		SIGABRT
		SIGILL
		SIGFPE
		SIGTRAP
		SIGSYS
		segmentation (fault|violation)
		segfault
		bus error
		(core|memory core) dumped
		illegal instruction
		floating point exception
		(process|worker|program|app|application|browser|renderer|page|tab|container|child|runtime|engine|encoder|server process) (has|was|is)? crashed
		(access|memory access) violation
		general protection fault
		stack (overflow|smashing)
		heap corruption
		double free
		double free or corruption
		assertion failed core
		fatal error: (concurrent|all goroutines|unexpected signal|stack)
		crash loop back off
		CrashLoopBackOff
		back off restarting failed container
		unexpected signal
		EXCEPTION ACCESS VIOLATION`},
	{id: "process.stopped", class: TemporaryServiceError, weight: wSaid + 2, trait: identifiers, phrases: `
		SIGTERM
		SIGINT
		SIGHUP
		SIGQUIT
		received (signal|sigterm|sigint) (15|2|1|term)?
		(signal) (terminated|interrupt|hangup|15)
		(interrupted|terminated|stopped|cancelled|canceled) by (signal|the system|shutdown|supervisor|scheduler|sigterm|operator)
		(process|worker|job|task|request|run|operation|context|call|execution|stream|query|build|command|statement) (was|has been|is|got)? (been)? (interrupted|cancelled|canceled|aborted|terminated)
		context (canceled|cancelled)
		operation (was)? (canceled|cancelled|aborted|interrupted)
		(task|operation) (canceled|cancelled) (error|exception)?
		KeyboardInterrupt
		InterruptedException
		CancelledError
		AbortError
		graceful (shutdown|stop)
		client closed request`},
	{id: "process.failed", class: UnknownError, weight: wNothing + 4, phrases: `
		exit (code|status) <number>
		exited with
		(command|process|subprocess|program|script|conversion|job|task|operation|request|execution|transcode|render|it|build|run|step) failed
		non zero exit
		nonzero exit
		returned non zero
		aborted
		abort
		panic
		error occurred
		(unknown|unexpected|unspecified|generic|general|undefined|other|misc|unclassified|undocumented) (error|failure|exception|reason|problem|cause)
		exception
		error`},
}

// bugRules are about programs that are wrong, about values that they cannot take, and about
// answers that they cannot read. A defect is not blamed on the input.
var bugRules = []rule{
	{id: "bug.runtime", class: ProgramError, weight: wCode + 1, trait: identifiers, phrases: `
		invalid memory address
		(nil|null) (pointer|reference) dereference
		NullPointerException
		NullReferenceException
		object reference not set to an instance
		IndexOutOfRangeException
		runtime error (index|slice bounds) out of range
		runtime error integer divide by zero
		(list|tuple|string|array) index out of range
		interface conversion interface
		assignment to entry in nil map
		all goroutines are asleep
		(send on|close of) closed channel
		close of nil channel
		ConcurrentModificationException
		InvalidCastException
		ArgumentNullException
		unsupported operand (type|types)
		(unexpected keyword|positional) (argument|arguments)
		maximum (call stack|recursion depth)
		lateinit property
		can't locate object method
		call to a member function
		call to undefined (function|method)
		(called|unwrap) option unwrap
		called unwrap on
		unwrap on a none value
		found nil while unwrapping
		no (function clause|match of right hand side|case clause) ...1 (matching|value)?
		attempt to (index|call|compare|concatenate|perform arithmetic on) ...1 (nil|number|table|string|boolean|field|local|global|upvalue) ...1 value?
		thread ... panicked at`},
	{id: "bug.code", class: ProgramError, weight: wStatus + 4, trait: identifiers, phrases: `
		(nil|null) (pointer|reference|object reference|map|is not an object|dereference)
		null pointer exception
		object reference not set
		(undefined|null|none|nil|nonetype|str|int|dict|list|float|tuple|bool|object|string|number|function) ...2 (is not|has no|object has no|object is not|does not have|cannot be) ...2 (function|object|attribute|method|property|subscriptable|callable|iterable|constructor|defined|hashable|interpreted|key|an object)
		(cannot|can't|unable to) (read|set|access|call|convert|destructure|assign|get) (properties|property|member|method|undefined|null|attribute|value of null) ...2 (of|to|on|undefined|null)?
		(is|was) not (a function|iterable|defined|callable|a constructor|subscriptable|hashable)
		(undefined|unknown|no) (method|function|variable|local variable|constant|attribute|symbol|reference|member|index|offset|array key|array index|label) ...2 (for|called|named|found|on|in)?
		undefined (method|function|variable|index|property|reference|array|offset|constant|symbol|is not)
		(NoMethodError|NameError|AttributeError|KeyError|IndexError|TypeError|UnboundLocalError|ReferenceError|ArithmeticError|ZeroDivisionError|StopIteration|LookupError|RecursionError|NotImplementedError|AssertionError|FunctionClauseError|MatchError)
		(ClassCastException|IndexOutOfBoundsException|ArrayIndexOutOfBoundsException|StringIndexOutOfBoundsException|NoSuchMethodError|NoSuchFieldError|NoSuchElementException|ArrayStoreException|NegativeArraySizeException|ArithmeticException|DivideByZeroException|KeyNotFoundException|StackOverflowError|StackOverflowException|NoSuchMethodException|IllegalAccessError|AbstractMethodError|VerifyError|LinkageError|InstantiationException|UninitializedPropertyAccessException)
		(index|slice|array|list|string|subscript|offset) (bounds|index)? ...2 (out of range|out of bounds|assignment index out of range|is out of)
		index out of
		slice bounds out of range
		interface conversion
		type assertion
		assertion (failed|error|failure)
		assertion ... failed
		integer (divide by zero|overflow|division)
		(missing|got an unexpected|takes|unexpected|required) ...3 (positional|keyword) (argument|arguments)
		(missing|required) ...2 positional
		takes ...3 arguments
		(multiple|duplicate) values for (keyword)? argument
		unsupported operand
		can only concatenate
		(cannot|could not) (concatenate|unpack|iterate|subscript)
		(not enough|too many) values to unpack
		bad (cast|type|variant access|optional access)
		has no (attribute|member|method|property)
		object is not (callable|iterable|subscriptable)
		infinite recursion
		unreachable code
		(not all code paths|deadlock detected in goroutines)
		uncaught (type error|reference error|exception type)
		not supported between instances
		circular import
		converting circular structure
		bug in
		this is a bug
		should never happen
		(invariant|contract) violation`},
	{id: "bug.value", class: ValidationError, weight: wSaid - 2, trait: identifiers, phrases: `
		(nil|null) value
		(ValueError|RangeError|UnicodeDecodeError|UnicodeEncodeError|OverflowError|FloatingPointError|InputMismatchException)
		has no field
		is null
		is undefined
		invalid literal for
		codec cannot (decode|encode)
		codec cant (decode|encode)
		could not convert string
		circular (reference|structure|dependency)
		unexpected keyword
		cannot evaluate field
		cant evaluate field
		no template`},
	{id: "bug.answer", class: UnknownError, weight: wSaid + 1, trait: identifiers, phrases: `
		unexpected end of json
		unexpected end of input
		unexpected token ...1 (doctype|html|in json at position 0)
		is not valid json
		expecting value (line 1 column 1)?
		(expected|got|received|unexpected) ...2 html
		invalid character looking
		invalid character ...2 looking for beginning of value
		(invalid|unparseable|unexpected|empty|garbled|bad|malformed|unreadable|no|cannot parse|failed to parse|could not parse|unable to parse|truncated|incomplete|strange|undecodable) ...2 (response|reply|answer) (from|body|received|was|content|text|returned|format|data|by|of)?
		(response|reply|answer) (was|is|could|body)? ...2 (empty|not json|malformed|invalid|truncated|unparseable|not be parsed|incomplete|unexpected)
		unterminated string in json
		json decode error
		JSONDecodeError
		unable to extract
		(no|empty) (output|result|answer|candidates|choices|content) (was|were|returned|from|generated|in|produced)`},
}
