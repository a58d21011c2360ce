package failure

// serviceRules are about services that are down, busy or not ready.
var serviceRules = []rule{
	{id: "service.unavailable", class: TemporaryServiceError, weight: wStatus + 2, trait: identifiers, phrases: `
		load shedding
		(shed|shedding) load
		(broker|leader|coordinator|master|node|primary|controller|upstream|backend) (was|is)? (notfound|missing|gone|lost) !(in config)
		timely response
		(backup|deploy|deployment|upgrade|migration|maintenance|rebalance|rebalancing|election|recovery|resync|restore|reindex|restart|reboot|rollout) (is)? (still|already|currently)? in progress
		(being|is) (attached|detached|provisioned|created|resized|migrated|unloaded|loaded|warmed)
		(service|server|services|api|backend|endpoint|resource|upstream|site|website|host|node|cluster|database|broker|system|gateway|application|model|engine|origin|provider|registry|repository|instance|function|worker|replica|shard|partition|leader|coordinator|controller|proxy|network|cache|storage|queue|region|zone|feature flag service) (is|was|are)? (currently|temporarily|momentarily|briefly)? unavailable
		(temporarily|currently|momentarily|transiently|briefly) (unavailable|out of service|down|offline|overloaded|disabled|suspended|unable|not available|closed|failing|inaccessible) !(video)
		temporary unavailable
		temporarily (cannot|out)
		service (outage|disruption|interruption|degradation|temporarily|down)
		(experiencing|having|encountered|seeing) ...3 (outage|issues|problems|difficulties|trouble|high load|heavy load|degraded)
		bad gateway
		gateway (time|timeout|error)
		(application|backend|upstream|origin|gateway|proxy|web server|server) (is|was)? (temporarily)? (down|unhealthy|dead|offline|unresponsive)
		web server is (down|returning)
		no healthy (upstream|backend|host|hosts|endpoint|endpoints|instances|targets|node)
		upstream (connect|request|prematurely|server|connection|error|service|response) (error|failed|temporarily|closed|timeout|reset|failure|unavailable|is|returned)
		no (live|available) upstreams
		no (server|backend|instance|worker|node|service) (is|are|was)? (currently)? available to (handle|serve|process)
		backend (fetch|connection|write|read) (failed|error)
		guru meditation
		origin (dns error|unreachable|is unreachable|error)
		error (code)? (520|521|522|523|524|525|527|530)
		(circuit|breaker) (is|was)? (breaker)? (is)? (open|tripped|opened|half open)
		circuit breaker
		breaker open
		(under|for|in|during|undergoing|down for|scheduled|planned|system|server|maintenance|emergency) maintenance !(contract|fee)
		maintenance (mode|window|in progress|is|underway)
		(be|come|check|coming) (right)? back (soon|shortly|later|in|at|online|up)
		(will be|we are|working to get|working on) ...3 back
		(shutting|shut) down !(connection|socket|by user)
		(is|server|being|gracefully|node|cluster|broker|database|service|process) (shutdown|shutting down|restarting|stopping|draining|rebooting|starting|initializing|initialising|terminating|recovering|rebalancing|warming|bootstrapping|migrating|upgrading|updating)
		shutdown in progress
		(not|isnt|is not|are not|not yet) ready (yet|for|to)?
		(starting|warming|booting|spinning|scaling) up
		(still|is|currently|is currently|are|model) (loading|starting|initializing|initialising|warming|booting|provisioning|deploying|synchronizing|syncing)
		cold start
		(fail|failing|failed) over (in progress|is|occurred|happening)
		failover
		(leader|coordinator|master|primary|quorum|controller|owner) (is)? (not available|unavailable|election|not found|unknown|changed|lost|missing|is missing|not elected|has changed|not available|not ready)
		no (leader|coordinator|master|primary|quorum|controller)
		not (the)? (leader|master|primary|coordinator|controller|writable primary|owner) !(of the document)
		(lost|no) quorum
		in recovery
		recovering
		(high|heavy|excessive|too much|elevated|unusually high|increased|peak) (demand|load|traffic|volume|usage|utilization|latency|error rate)
		(at|over|out of|no|insufficient|exceeded|not enough|lack of|limited|reached|full|max|maximum|at full|available|remaining) ...1 capacity !(of the|limit of)
		capacity (is|was|exceeded|constraint|constraints|unavailable|reached|limit|not available|issue|error|insufficient|exhausted)
		(overload|overloaded|overloading|overutilized|oversubscribed)
		(server|service|system|database|resource|device|worker|engine|model|node|host|backend|broker|instance|lock|scheduler|site|api|line|it|we|is|are|currently|too|very) (is|are)? (currently|too|very|temporarily)? busy
		busy (server|try|please|right now|loading|processing|handling)
		try again (in|after) (a|some|few) ...2 (moment|moments|minutes|seconds|while|time|moment)
		(degraded|brownout|partial outage|major outage|outage)
		(transient|temporary|intermittent|momentary|sporadic) (error|failure|problem|issue|fault|network|condition|outage|exception|server|system|internal|glitch|local|authentication|lookup|dns|service|resource|connection|disruption|backend|rejection)
		(temporarily|temporary) (deferred|rejected|failed|delayed|blocked by)
		(system|server|database|backend) (is)? (offline|down|unhealthy|frozen|hung)
		service not available
		cannot handle ...2 (request|connection|load|call|moment)
		unable to (handle|serve|process|service|fulfill) (the|this|your|new|any|more|a)? ...2 (request|requests|call|connection|at this time|right now|moment)
		(currently|temporarily) unable to
		at this time !(of)
		at the moment
		right now
		(retryable|retriable|recoverable) (error|exception|failure|write|status)
		(please|safe to|you can|may|should|can be|could be) (retry|retried) (the|your|this)? (request|operation|transaction|call|command|it|them|write)
		(request|operation|transaction|call) (can|could|may|should|might|will) (be retried|succeed if retried|be repeated)
		succeed if retried
		retry (the)? (request|operation|transaction|call|again) (later|in|after|with backoff|may)
		retry with (exponential)? (backoff|back off)
		server is (too)? busy
		model (is)? (overloaded|currently loading|loading|not ready|warming|is currently overloaded)
		engine (is)? (overloaded|currently overloaded)
		heroku application error
		instance (is)? not running
		eventual consistency`},
	{id: "service.internal", class: TemporaryServiceError, weight: wGeneric - 4, trait: identifiers, phrases: `
		(input output|i o) error
		retrying may (solve|help|succeed|work)
		internal (server|service|system|api|processing|backend|failure|platform)? (error|failure|exception|problem|fault) !(code <number>)
		internal failure
		server (side)? (error|failure|exception|fault|issue)
		(server|backend|upstream|api|service|platform|system) (had|encountered|experienced|has|reported|returned|threw) ...2 (error|exception|failure|problem|issue)
		unexpected (server|system|internal|condition|response|status|error from|error on|failure|error occurred|error has)
		(error|problem|issue|failure) (occurred|happened|was encountered|encountered|arose)? ...3 (processing|handling|serving|on our|on the server|completing|fulfilling|executing) ...2 (your|the|this)? (request|end|side|operation)
		something (went|has gone|is going|goes) wrong
		(sorry|apologies|apologize) ...3 (error|wrong|inconvenience|trouble|problem|failed|unavailable|that)
		(system|service|api|platform|application) error !(code)
		(oops|whoops|uh oh|hmm)
		backend error
		service exception
		unhandled (exception|error)
		an error (has)? occurred (while|during|processing|on the server|on our)
		worker (lost|died|crashed|exited|terminated|disappeared|unexpectedly|process (died|crashed|exited|lost|disappeared))
		(stalled|stuck|orphaned) (job|task|worker|run)
		(job|task|run) (has)? (stalled|got stuck|was lost|orphaned)
		(job|run|node|pod|worker|vm|instance|machine) (was|has been|got)? (evicted|preempted|rescheduled|reclaimed|interrupted|lost|drained)
		(target|page|context|browser|tab|frame|renderer|session) ...3 (closed|crashed|detached|disconnected|deleted|destroyed)
		(preemptible|spot) (instance|vm|interruption|reclaimed)`},
	{id: "service.again", class: TemporaryServiceError, weight: wWeak - 4, phrases: `
		(try|retry|attempt) (again|later|shortly|in a)
		(please|kindly) (try|retry|wait)
		(contact|later) try
		again later
		(wait|waiting) (a|and|before|for) (few|try|retry|moment|retrying|trying)`},
	{id: "service.temporary.word", class: TemporaryServiceError, weight: wWeak + 4, phrases: `
		(temporary|temporarily|transient|intermittent) !(directory|file|files|folder|path|table|credentials|token|dir|password|url)
		unavailable !(video|content|in your)
		unreachable !(code)
		(offline|downtime)
		busy
		unhealthy`},
}

// rateRules are about too much in a short time.
var rateRules = []rule{
	{id: "rate.limit", class: RateLimitExceeded, weight: wStrong + 8, trait: identifiers, phrases: `
		ratelimit (is|was|has been|have been)? (exceed|reached|hit|error|exception|violation|violated|breach|triggered|enforced|surpass|in effect|active|applies|quota|policy|for|of|threshold)
		(exceed|reached|hit|over|above|hitting|reaching|exceeding|violated|triggered|tripped|under|due to|because of|being|been|are|is|were|was|got|getting|surpass|past) (the|your|our|its|a|an|by)? ...3 ratelimit
		(secondary|primary|user|api|request|token|tokens|global|account|abuse|per user|client|message|upload|daily user|shared|ip|tenant|project|model|route|endpoint|burst|concurrency) ratelimit !(window|remaining|reset|headers)
		too many requests
		(too|so) many (api|http|concurrent|simultaneous|parallel|outstanding|pending|inflight|in flight|recent|open|rapid|login|failed|sign in|incorrect|active|successive|consecutive|repeated)? (requests|request|calls|queries|attempts|connections from|messages|pings|tries|sessions|logins|operations|invocations|executions|streams|retries|commands|transactions per|emails|submissions|uploads|downloads|hits|jobs running|concurrent|simultaneous)
		too (much|many) (requests|traffic|concurrency|pings) (in|within|per|for)?
		too many (concurrent|simultaneous|parallel)
		throttl
		(throttle|throttled|throttling|throttler) !(setting|parameter|option)
		(throttling|throttled|throttle) (exception|error|failure|exceeded|by|request|requests|due|limit)
		ThrottlingException
		EC2ThrottledException
		RequestThrottled
		ThrottledException
		RequestThrottledException
		RequestLimitExceeded
		request limit (exceeded|reached|hit)
		(exceed|reached|hit|over) ...3 (request|requests|call|calls|query) (limit|rate|quota|count|cap|threshold) (per|in|for)?
		(maximum|max|allowed|limit) (number of)? (requests|calls|queries|messages|tokens|operations) (per|in|within|each|every)
		(requests|calls|queries|messages|tokens|operations|transactions|writes|reads|rows|units|events|emails) (per|a|each|every)? (second|minute|sec|min) (limit|exceeded|reached|quota)?
		(requests|calls|queries|messages|tokens|operations|transactions|writes|reads|rows|units|events|emails) (per|a|each|every) s
		(slow|slowing) down
		SlowDown
		(reduce|decrease|lower|slow|reducing|limit|adjust) (your|the)? (request|requests|call|query|sending|message|connection|api|write|read)? (rate|frequency|concurrency|speed|traffic|load|throughput)
		(request|sending|call|message|connection|read|write|query|submission|upload|send|mail|api) (rate|frequency) (is|was)? (too high|exceeded|limit|limited|exceeds|too fast|limiting)
		(too|so) (fast|frequent|frequently|quickly|often) !(the)
		(sending|requesting|calling|posting|making|sent|made) ...3 (too quickly|too fast|too often|too frequently|rapidly|quickly)
		(flood|floodwait) (wait|control|protection|detected|error|limit)
		FLOOD WAIT
		floodwait
		PEER FLOOD
		(limiting|limited) requests
		enhance your calm
		TooManyRequestsException
		TooManyRequests
		TooManyRequest
		(provisioned)? throughput exceeded
		ProvisionedThroughputExceeded
		ProvisionedThroughputExceededException
		(throughput|bandwidth|iops|request units|rus|ru|dtu|cpu time|compute|write|read) (limit|rate|units|budget|capacity)? (exceeded|throttled|reached|exhausted|is too large)
		request rate is (large|too large|high|too high)
		BandwidthLimitExceeded
		(concurrency|concurrent|parallelism|simultaneous|parallel) ...3 (limit|limits|maximum|quota|cap|exceeded|reached|allowed)
		(limit|maximum|max|cap) ...3 (concurrent|simultaneous|parallel)
		(abuse|spam|bot) (detection|rate) (mechanism|limit)
		(backpressure|back pressure)
		(backoff|back off|cool down|cooldown|cooling) (period|in effect|required|is active|active)
		(temporarily)? (blocked|banned|restricted) ...3 (too many|requests|minutes|seconds)
		unusual (traffic|activity|rate)
		(rejected|rejecting) execution
		es rejected execution exception
		(queue|buffer|backlog|mailbox of worker|thread pool|executor) (is|was)? (full|overflow|overflowed|saturated|limit|capacity|length exceeded)
		(thread pool|executor) (is)? (saturated|exhausted|full)
		(too many|max|maximum) ...2 (pending|queued|outstanding) ...1 (requests|jobs|tasks|messages|operations|tickets|submissions)
		userRateLimitExceeded
		rateLimitExceeded
		ratelimited
		rate_limited
		rate_limit_error
		RateLimitError
		RateLimitExceededException
		RateLimitedException
		ratelimitreached
		PriorRequestNotComplete
		request quota ...4 (per|each|every) (second|minute)
		(would exceed|exceeds) ...3 ratelimit
		(requests|tokens|images|audio seconds|input tokens|output tokens) per (minute|min|second)
		(rpm|tpm|qps|tps|rps|itpm|otpm) (limit|exceeded|quota|reached)?
		queries per second
		limit of <number> ...2 (requests|calls|messages|queries|tokens|transactions) (per|a|an|each|every) (second|minute|min|sec)
		you are being ratelimit`},
	{id: "rate.limit.word", class: RateLimitExceeded, weight: wSaid + 2, trait: identifiers, phrases: `
		ratelimit !(window|remaining|reset|header|headers|must|setting|parameter|is disabled|unit|config)
		rate (is|was)? (exceeded|exceeds|too high|over)
		(too many) (connections|clients|sessions|users|logins|sockets) !(open)
		(retry|wait) (after|for|in) <duration>
		retry after <number>
		(try|retry|attempt) ...2 (in|after) <duration>`},
}

// quotaRules are about what is used up for longer, and about money.
var quotaRules = []rule{
	{id: "quota.period", class: QuotaExceeded, weight: wCode + 6, trait: identifiers | perPeriod, phrases: `
		(daily|weekly|monthly|yearly|annual|lifetime|per day|per month|24 hour|todays|months|monthlong|day|month) ...3 (limit|quota|cap|allowance|allotment|allocation|budget|usage|limits|maximum|credits|sending|volume|threshold) ...4 (reached|exceed|exhausted|used|hit|met|over|spent|consumed|depleted|surpassed|full|gone|up|maxed|ran|reach|for)
		(reached|exceed|exhausted|used|hit|met|over|spent|consumed|depleted|out of|maxed|above|all|run out of|used up) ...4 (daily|weekly|monthly|yearly|annual|lifetime|24 hour|todays|months) ...3 (limit|quota|cap|allowance|allotment|allocation|budget|usage|credits|sending|volume|maximum|messages|requests|calls|emails|searches|downloads|uploads|minutes|tokens|characters|renders|jobs)
		(daily|monthly|weekly|yearly|annual) (limit|quota|cap|allowance|usage limit|user sending|sending limit|sending quota|message quota|request limit|maximum) !(is|of <number> for|setting|must)
		DailyLimitExceeded
		dailyLimitExceededUnreg
		MonthlyLimitExceeded
		MonthlyQuotaExceeded
		DailyQuotaExceeded
		(quota|limit|allowance|limits|maximum|cap) ...2 for (today|the day|this day|the month|this month|the week|this week|this period|the period|this billing|your billing|the billing|your plan|this plan|the current period|the current month|your tier|your account|your subscription) ...4 (reached|exceed|exhausted|used|has|is|was)?
		(try|come|retry|again|back|available|resume|renew|resets|reset|resetting|until|available again|refills|renews) ...2 (tomorrow|next (day|week|month|year|billing)|midnight|first of)
		(quota|limit|usage|allowance|credits|counter) (will|is|gets|resets|reset|to be)? (reset|renewed|refreshed|replenished|resets|renews|refilled) (on|at|in|every|daily|monthly|tomorrow|next)
		used (up)? (all|<number>|100) ...5 (this|for|of|in) (the|your|this)? ...1 (month|day|week|year|today|period|cycle|plan|quota|allowance)
		(allows|allowed|permits|includes|included|limit of|limited to|maximum of|max of|only) ...3 <number> ...4 (per|a|each|every) (day|month|week|year|24 hours)
		<number> (of) <number> ...4 (used|consumed) ...2 (this|per|today)
		limit of <number> ...4 (per|a|each|every|in) (day|month|week|year|24 hours)
		(per|a|each|every) (day|month|week) (limit|quota|exceeded|reached)
		(requests|tokens|calls|queries|emails|messages|units|images|characters) per (day|month|week|24 hours)
		(rpd|tpd|ipd) (limit|exceeded|quota)?
		PerDayPer
		(requests|tokens|queries|calls) per day
		quota (units)? per day
		(limit|quota) ... tomorrow`},
	{id: "quota.current", class: QuotaExceeded, weight: wDecides + 2, trait: identifiers, phrases: `
		insufficient quota
		insufficient_quota
		exceed ...2 current quota`},
	{id: "quota.plan", class: QuotaExceeded, weight: wStrong + 2, trait: identifiers, phrases: `
		(plan|tier|subscription|package|license|free|trial|account|usage|contract|seat|edition|freemium|workspace|organization|team|pricing plan) (tier|plan|account|usage|trial)? (limit|limits|limitation|quota|cap|allowance|entitlement|maximum) ...4 (reached|exceed|exhausted|hit|met|used|over|for|surpassed)
		(reached|exceed|exhausted|hit|met|over|beyond|past|outside|used up|above|maxed out) ...4 (plan|tier|subscription|package|free|trial|account|usage|included|contract|licensed|license|entitled|allotted|seat|hobby|starter) ...2 (limit|limits|limitation|quota|cap|allowance|entitlement|usage|minutes|credits|requests|seats|maximum|tier|plan|hours|storage)
		usage (limit|limits|quota|cap) !(must|setting)
		(upgrade|upgrading) (to|your|the|a)? ...3 (plan|tier|subscription|account|pro|premium|paid|higher|license|limit|limits|quota) !(browser|version|app)
		(not|isnt) (included|available|supported|covered|part) ...2 (in|on|with|by|for|of) (your|this|the|current) ...2 (plan|tier|subscription|package|license)
		(your|current|this|the|free|basic) (plan|tier|subscription|package) (allows|only|includes|permits|supports|is limited|does not include|does not allow)
		(increase|raise|raised|extend|request a) ...3 (quota|limit increase)
		(quota|limits) increase
		(0|no|zero) (credits|tokens|minutes|requests|calls|messages|units|quota|searches|emails) (remaining|left|available|remain)
		(credits|credit|minutes|quota) (is|are|has|have|been|were)? (exhausted|used up|depleted|exceeded|consumed|spent|expired|run out)
		(tokens|units) (are|have|been)? (exhausted|used up|depleted|all used)
		(out of|no more|ran out of|run out of|not enough|all|maximum|used all|exhausted|max) ...2 (credits|credit|quota) !(card)
		(max|maximum) (credits|emails|messages) exceeded
		(enforced)? spend limit reached
		(spend|spending|cost|usage) (limit|cap|ceiling|budget) ...3 (reached|exceed|hit|exhausted)
		quota (limit)? (has|have|is|was)? (been)? (exhausted|used up|depleted|consumed|full|maxed)
		(no|zero|not) (remaining|available|left|enough) quota
		quota ...3 (used up|exhausted)
		(limit|quota) <number> ...3 per (day|month)
		free (tier|quota|usage|trial|plan)
		(tier|plan|subscription) limit
		(maximum|max|limit) (number of)? ...2 (streams|consumers|subscriptions|indices|aliases|triggers|crons|schedules|rules|apps|applications|pipelines|registrations|devices|deployments|schemas|projects|seats|users|members|accounts|workspaces|buckets|repositories|instances|databases|collections|indexes|domains|sites|environments|keys|webhooks|functions|resources|vms|clusters|vpcs|addresses|volumes|snapshots|images|topics|subscriptions|queues) ...4 (reached|exceed|allowed|has been|hit|per account|limit)
		LimitExceededException
		ServiceQuotaExceededException
		ServiceQuotaExceeded
		(Instance|Vcpu|Volume|Address|Vpc|Bucket|Function|Resource|Account|Snapshot|Topic|Queue|Stream|Role|User|Policy|Group|Key|Secret|Table|Shard) (limit|quota) exceeded
		CodeStorageExceededException
		(operation)? could not be completed as it results in exceeding
		ResourceLimitExceeded
		TooManyBuckets
		quota (set)? for the (bucket|account|project|user|tenant|organization|subscription|tenant)
		(storage|mailbox|account|user|tenant|bucket|project|space|file|api|upload|download|bandwidth|transfer|email|sending|message|download|read|request|build minutes|egress|sms|compute|gpu|cpu) (space)? quota (is|was|has|been|limit)? (been)? (exceed|full|reached|exhausted|over|used|exceeded for)
		over (its|the|your)? (storage|mailbox|account)? quota
		(mailbox|inbox) (is|was)? (full|over quota)
		downloadQuotaExceeded
		uploadLimitExceeded
		over quota
		overquota`},
	{id: "quota.word", class: QuotaExceeded, weight: wStrong + 3, trait: identifiers, phrases: `
		quota (limit|limits|usage|was|is|has|have|metric|amount)? (been)? (exceed|reached|violation|error|failure|hit|over|limit|insufficient|surpass|breached|overflow)
		(exceed|reached|hit|over|out of|beyond|insufficient|violated|exceeding|not enough|surpass|above|used up|no) (the|your|its|our|a|an)? ...2 quota
		QuotaFailure
		quotaExceeded
		QuotaExceededException
		QuotaExceededError
		!(time|size|memory|length|ratelimit|depth|recursion|retry|attempt|connection|thread|pool|body|file|payload|heap|stack|cpu|concurrency|redirect|nesting|context|window|input|result|message|byte) limit exceeded (exception|error|fault)?`},
	{id: "payment", class: PaymentRequired, weight: wCode + 7, trait: identifiers | money, phrases: `
		payment (is)? (required|needed|failed|declined|method|overdue|past due|due|missing|not received|error|refused|rejected|was declined|could not) !(service|gateway|api|timeout|queue|job|worker|provider)
		(no|add|update|missing|valid|invalid|without|expired|set up|provide) (a|an|your|any|valid)? (payment|billing) (method|information|details|account|info|source|profile|instrument)
		billing (hard|soft)? (limit|cap|threshold) ...3 (reached|exceed|hit|has)
		billing (is|has|was|must|to be|needs)? (not|been|be)? (enabled|disabled|active|set|inactive|not active|required|suspended|issue|problem|error|past due|closed|delinquent|configured)
		(enable|check|verify|configure|requires|activate|issue with|problem with|set up|manage|due to|review) ...2 billing
		billing not enabled
		BillingNotEnabled
		BILLING DISABLED
		(plan|plans) and billing
		(credit|credits|account|wallet|prepaid|point) (balance)? (is|are|was)? (too low|insufficient|negative|exhausted|depleted|=empty|low|not enough|zero)
		token balance (is|are|was)? (too low|insufficient|negative|exhausted|depleted|=empty|low|not enough|zero)
		(insufficient|low|negative|no|zero|inadequate|not enough|lack|lacks|lacking|out of|exhausted|ran out of|run out of|too few) (account|available|remaining|prepaid|wallet|sufficient|enough|your)? (balance|funds|credits|credit|money|fund|points) !(card|remaining <number>)
		balance (is)? (too low|insufficient|not enough|exhausted|negative|below|depleted|low)
		(requires|require|required|needs|need) ...3 (more|additional|at least <number>)? (credits|paid plan|payment|paid subscription|premium|paid account)
		(you|account|project|user|team|workspace|organization) ...5 (enough|sufficient) (credits|funds|balance|credit)
		(card|credit card|bank|issuer|payment) (was|has been|is|issuer)? (declined|expired|refused|rejected|not supported|cannot be charged)
		card declined
		do not honor
		(insufficient|not sufficient) funds
		(invoice|bill|account|payment|subscription|balance) (is|are|has)? (unpaid|overdue|past due|delinquent|outstanding|in arrears|not paid)
		(unpaid|overdue|outstanding|open|past due) ...2 (invoice|invoices|bill|balance|payment|account|charges)
		arrears
		Arrearage
		(subscription|trial|plan|license|membership|contract|free trial|trial period|licence) (period|plan)? (has|is|was|have|had)? (been)? (already)? (ended|expired|cancelled|canceled|lapsed|inactive|suspended|terminated|over|required|not active|past due|paused|has ended)
		(no|not an|without|requires|need|require|missing|expired|valid|inactive) (an|a)? (active|valid|paid|current)? (subscription|license|licence|membership) !(key file|header|id|found for topic|topic|with name)
		renew (your|the) (plan|subscription|license|membership|account)
		(spending|monthly spending|budget) (limit|cap) (reached|exceeded)
		pay (as you go|your|now|the invoice)
		account (is)? not in good standing
		(purchase|buy|order) (a|an|the) (plan|license|subscription|package)
		(account|access) ...3 (non payment|nonpayment|unpaid|overdue)`},
	{id: "payment.advice", class: PaymentRequired, weight: wStrong + 4, trait: money, phrases: `
		(purchase|buy|top up|topup|recharge|add|adding|refill|load|purchasing) (more|some|additional|your|extra)? (credits|credit|funds|balance|money|account)`},
	{id: "payment.word", class: PaymentRequired, weight: wSaid, trait: money, phrases: `
		billing !(address|name|contact|details|country|email)
		(prepayment|unpaid|overdue)`},
	{id: "time.moment", weight: 1, trait: perMoment, phrases: `
		per (second|minute|sec|min|hour)
		(per|a|each|every) ...1 (user|project|client|ip) ...2 (second|minute)
		<number> seconds
		(rpm|tpm|qps|rps|itpm)
		PerMinutePer
		(requests|tokens|queries) per (minute|second)`},
	{id: "time.period", weight: 1, trait: perPeriod, phrases: `
		per (day|month|week|year)
		(daily|monthly|weekly|tomorrow)
		(rpd|tpd)
		24 hours
		PerDayPer
		(this|next|calendar|billing) (month|week)`},
	{id: "time.money", weight: 1, trait: money, phrases: `
		(billing|payment|credits|invoice|purchase|paid|subscription)`},
}
