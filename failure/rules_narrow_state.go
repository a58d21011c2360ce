package failure

// stateRules are statements about the state of things that an application deals
// with, and about money and allowances, where the noun decides the class.
var stateRules = []rule{
	{id: "business.thing", class: BusinessLogicError, weight: wStatus + 1, trait: identifiers, phrases: `
		(coupon|voucher|code|quote|booking|reservation|auction|offer|invitation|poll|survey|campaign|promotion|ticket|order|basket|cart|draft|listing|contract|discount|gift card) ...2 (expired|closed|ended|lapsed|redeemed|sold)
		(voting|registration|enrollment|booking|bidding|checkin|check in|submission|submissions|sale|sales|applications|nominations|ordering) (period|window|phase)? (has|have|is|are|was) (already|now)? (closed|ended|over|finished|not open)
		(window|period|deadline|grace period|time frame|term|date|cutoff) ...6 (has|have|had|is|was) (already)? (passed|elapsed|closed|over|expired|ended) !(waiting)
		(seat|slot|room|table|username|handle|nickname|name|domain|subdomain|slug|number|date|place|spot|position|vehicle|appointment|time) ...2 (is|are|was|were|has been) (already|no longer|not)? (taken|occupied|reserved|booked|claimed|free)
		(thread|comment thread|discussion|topic|issue|conversation|ticket|period|ledger|month|form|sheet|course|account period|chat) (is|was|has been) (already)? (locked|closed|archived|resolved|finalized) !(by another)
		(workspace|ledger|account|inventory|cart|order|roster|schedule|release|branch|project) (is|was|has been) (currently)? (frozen|finalized) (until|during|for|while|by the audit|since)
		(must|has to|have to|needs to) (first)? be (signed|approved|paid|confirmed|activated|published|closed|completed|reviewed|accepted|submitted|verified|released|shipped|cancelled|unlocked|reopened) (first|before|prior|by)
		must (first)? be ... before (it|you|they|the|this|this can|any)
		(transition|move|change|moving|switching|going) (of state)? from <value> to <value> (is|are|was)? (notallowed|not possible|invalid|forbidden|illegal|not valid|impossible|not supported)
		(cannot|can not|may not) (go|move|transition|change|switch) from <value> to <value>
		(only)? <number> (items|units|pieces|copies|seats|tickets|places|rooms) (are)? (left|remaining|available) (in stock|in store|for)?
		(left|remaining|available) in stock
		(user|customer|member|guest|player|patient|employee|account|person) ...3 (not a participant|not part of|not invited|not registered for|not enrolled|not booked|not checked in)
		(amount|value|sum|bid|order|price|withdrawal|deposit|transfer|stake|basket|total|subtotal) ...5 (below|under|less than|lower than|above|over|exceeds) ...2 (minimum|maximum|reserve|limit of|floor|ceiling|allowed amount)
		(mandate|order|booking|contract|reservation|appointment|flight|event|meeting|shipment|standing order|delivery) (was|has been|is) (already)? (cancelled|withdrawn|revoked|called off)
		no longer (on sale|for sale|bookable|offered|sold|deliverable|refundable)
		(is|are) (write protected|worm protected|immutable) and
		(parent|previous|preceding|upstream|required|prerequisite|dependent|child) (job|task|step|order|stage|run|booking|payment|phase|document) ...2 (not finished|has not finished|not completed|has failed|failed|was cancelled|is missing|unfinished|not done)
		assigned to (another|someone|somebody|a different|other)
		(still|currently) (has|have|had) (open|unpaid|pending|active|unresolved|outstanding|running|unfinished|remaining) <any>
		(unresolved|outstanding|unfinished|open) (comments|tasks|conversations|conflicts|reviews|orders|items|threads|issues|discussions)
		superseded by
		(sale|offer|event|match|game|season|campaign) (has)? not (yet)? (started|begun)
		(minimum|maximum) number of (players|participants|guests|nights|seats|people)
		(sold|fully booked|overbooked|waitlist|wait list)
		(mandate|contract|policy|agreement) ...2 (revoked|not signed|not active|lapsed|withdrawn)`},
	{id: "payment.thing", class: PaymentRequired, weight: wStrong + 4, trait: identifiers | money, phrases: `
		(card|credit card|debit card|payment method|bank account) (has|is|was|have) (been)? (expired|blocked|lost|stolen|closed|restricted|invalid|frozen|removed)
		(invoice|bill|payment|subscription|instalment|installment|fee|fees) ...3 (past due|overdue|unpaid|outstanding|not settled|not been paid|in arrears)
		(balance|wallet|credit|deposit|budget|funds|credits) ...6 (not cover|used up|insufficient|too low|not sufficient|run out|ran out|exhausted|spent)
		(prepaid|wallet|account) (balance|credit|credits|funds) ...2 (used up|empty|gone|spent|exhausted)
		(top|fill) up your
		(instrument|charge|transaction|direct debit|mandate|funding source) (was|is|has been)? declined
		(please)? (top up|recharge|refill) (your|the)? (account|wallet|balance|credits|credit)
		(insufficient|not enough|too little|no) (funds|money|balance|credit|credits)
		3d secure
		(needs|requires) (payment|a paid)`},
	{id: "quota.thing", class: QuotaExceeded, weight: wStrong + 5, trait: identifiers, phrases: `
		your storage (is|was) full
		storage (is)? full ...1 upgrade
		(no more|not more|at most|up to) <number> (videos|projects|renders|jobs|minutes) ...4 (month|plan|day|week|tier|subscription)
		used <number> ...5 (plan|month|quota|period|subscription|tier)
		(no|zero|out of) (more)? (seats|licenses|licences|projects|credits|minutes|renders|searches) ...2 (left|available|remaining|in|on) (this|the|your)? (subscription|plan|license|team|tier|account|organization)
		exceed (approved|total|the total|assigned|granted|allotted) ...4 quota
		exceed the number of ...4 (may|can|allowed|permitted)
		no more (seats|licenses|licences|projects|minutes|renders|searches) (in|on|for|left)
		quota ...5 (used up|exhausted|reached|full|consumed|spent|depleted)
		(allowance|allotment|allocation) ...3 (used up|exhausted|reached|consumed|spent|depleted|gone)
		(may|can) (only)? make <number> ...3 (a|per|each|every) (day|week|month)`},
	{id: "rate.thing", class: RateLimitExceeded, weight: wStrong + 8, trait: identifiers, phrases: `
		(message|request|sending|call|query|event) rate (is|was)? (above|over|beyond|too high)
		too many (posts|comments|likes|follows|tweets|replies|invites|votes|texts|actions|changes) !(in one|in the)
		spam risk
		(per minute|per second|minute|second|hourly|per hour|burst) (rate)? (limit|quota|cap|allowance|capacity|rate) ...5 (reached|exceed|hit|used up|exhausted)
		rate of <number> ...4 (above|over|exceed|higher|larger|more)
		(please)? wait <number> (s|seconds|minutes|sec|min) (before|until|and|to)
		(please)? wait <any> before
		(burst|request|call|message) (capacity|budget|tokens|allowance) (exceed|exhausted|used up|reached)
		(only)? <number> (requests|calls|messages|queries) (per|a|each|every) (second|minute|hour) (are)? (allowed|permitted|possible)
		(cooldown|cool down) (of|is|active|not over|in effect|period)`},
	{id: "resource.thing", class: ResourceConstraint, weight: wStrong + 3, trait: identifiers, phrases: `
		(disk|volume|partition|filesystem|drive|scratch|storage|mount|device) ...3 (is)? (at|over|above) (100|99|98|97|96|95)
		<path> (is|was) full
		(descriptors|handles|inodes|threads|sockets|pids|memory|ram|swap|vram|slots|workers) ...1 (used up|exhausted|depleted|all taken|ran out)
		killed signal 9
		(no|not) ...2 (room|capacity) left (on|in) (this|the)? (node|host|machine|worker|device)`},
	{id: "content.rules", class: ContentViolation, weight: wStrong + 6, trait: identifiers, phrases: `
		(judged|deemed|rated|considered|classified|found) (to be|as)? (hateful|violent|sexual|harmful|offensive|unsafe|obscene|abusive|illegal|explicit|inappropriate)
		(refused|declined|stopped|blocked|rejected) (on|for) (safety|moderation|legal|policy|ethical) (grounds|reasons)
		(do not|will not|cannot|never) (render|generate|publish|show|create|produce|make|accept) ...1 (violent|sexual|hateful|explicit|nude|illegal|harmful|adult|gory) <any>
		(counterfeit|pirated|stolen|bootleg) (goods|product|products|content|copy|material|items)
		(removed|rejected|hidden|blocked|disapproved|deleted|demonetized) ...6 (against|violates|breaks|broke|breaching) (our|the|platform|community|site)? ...1 (rules|policy|policies|standards|guidelines)
		(advert|advertisement|ad|campaign|creative|listing|image|post) (was|is|has been)? (disapproved|demonetized)
		(matches|matched|match) (copyrighted|known abusive|a blocked|banned) <any>`},
	{id: "auth.longer", class: AuthenticationFailure, weight: wStrong + 4, trait: identifiers, phrases: `
		(key|token|session|password|credential|credentials|login|certificate|secret|signature|cookie|licence key) ...2 no longer (valid|accepted|active|works|recognized)
		(token|assertion|jwt|ticket) ...3 (issued|meant|intended) for (another|a different|other) (audience|client|issuer|app|application|tenant|user)
		(audience|issuer|nonce) (mismatch|invalid|does not match|is not)`},
	{id: "permission.mine", class: PermissionError, weight: wStatus, trait: identifiers, phrases: `
		(you|we|they|key|token|user|role|account|client|caller|guest|guests|bot) may (not|only) (do|read|write|see|use|call|access|view|list|delete|edit|change|create|send|publish|join|open)
		(is|are) not (yours|your own|ours|owned by you)
		(belongs|belong) to (another|someone|somebody|a different|other) (user|account|person|team|organization|tenant|else|workspace)
		(role|account|user|key|token) ...2 lacks the`},
	{id: "validation.thing", class: ValidationError, weight: wSaid, trait: identifiers, phrases: `
		(makes|make) no sense
		(is|are) (nonsense|nonsensical|meaningless|gibberish)
		(which|that) (nobody|no one|nothing) (has)? (defined|declared|set)
		(have|has|with|share|shares|use|uses) the same (name|id|key|label|path|title|number|value)
		(has|have|with) neither <any> nor <any>
		(json|body|request|object|payload|message|document|file|config|input|record|row) ...2 lacks ...2 (key|field|property|attribute|value|element|entry|column|header)
		(endpoint|route|method|url|resource) ...1 (takes|accepts|allows|supports|expects) <any> only
		but (none|nothing|neither|no value) (was|were|is|has been)? (given|set|provided|found|passed|supplied)
		(may|must|can) not be (longer|larger|greater|smaller|shorter|earlier|later|more|less|higher|lower) than (the)? <any> !(bytes|characters|mb)`},
	{id: "limit.allowed", class: InputExceedsLimits, weight: wSaid + 4, trait: identifiers, phrases: `
		(no|not) more than <number> <any> (are|is|can|may|possible|allowed|permitted|supported|fit)
		(has|have|is|are|with|of) <number> (characters|bytes|pages|tokens|words|rows|scenes|items|files|pixels|seconds|minutes|images|lines) ...1 <number> (are|is) (allowed|permitted|possible|supported|the limit|the maximum)`},
	{id: "input.thing", class: InvalidInput, weight: wStatus + 2, trait: identifiers, phrases: `
		does not look like (a|an) <any> (file|archive|image|video|document)
		end of central directory
		(format|media|file|codec|resolution|duration|video|image|audio|picture) ...1 check (failed|not passed)
		(file|image|document|media) format error
		(file|stream|data|input|image|video|archive|recording|track|upload|document) ends (in|before|within|early|abruptly|too early|prematurely)
		(odd|zero|negative|non square) (height|width|dimension|dimensions|length|number of samples)
		(xref|trailer|startxref) (table|dictionary|stream)?
		(image|file|document|video|audio|track|archive|page|picture|clip|sheet|frame|stream) ...2 (cannot|could not|can not) be (decoded|read|parsed|opened|played|rendered|identified|converted|loaded|processed)
		(link|url|address) leads nowhere
		(image|file|document|video|audio|track|archive|page|picture|clip|sheet) ...6 (we|which we|that we|it|nobody|the program) cannot (read|decode|open|parse|play|process|convert)`},
}
