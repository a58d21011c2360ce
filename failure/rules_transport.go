package failure

// transportRules are about connections, name servers and TLS.
var transportRules = []rule{
	{id: "transport.refused", class: TemporaryServiceError, weight: wStrong + 2, trait: identifiers, phrases: `
		(connection|connect|server|host) ...8 (was|is|be|been) refused !(authorization|login)
		connection (was|is|has been)? (actively)? refused
		(connect|dial|call) refused
		ECONNREFUSED
		WSAECONNREFUSED
		err connection refused
		actively refused it?
		refused (the|our|your|my)? (tcp|network)? connection
		refused to (connect|accept)
		connections are refused
		refusing (new)? connections
		(is|nothing|nobody|none) (is|are)? listening (on|at)
		no listener
		conn refused`},
	{id: "transport.reset", class: NetworkTimeout, weight: wStrong, trait: identifiers, phrases: `
		(connection|conn|socket|stream|session|tunnel|channel|link|transport) (was|is|has been|got|been|were)? (already|unexpectedly|forcibly|prematurely|abruptly|suddenly|just|being)? (reset|aborted|closed|dropped|lost|terminated|broken|interrupted|severed|shutdown|died|dead|disconnected|closing|gone|torn) !(by user|pool)
		(connection|conn|socket) (was|is|has been)? (already|unexpectedly)? (shut|torn|cut) (down|off)
		(reset|aborted|closed|terminated) by (the)? (peer|server|remote|host|upstream|client|other|proxy|foreign|backend)
		(peer|server|remote|client|host|party|upstream|backend|side|end|broker|proxy|gateway|node|database|replica|master) (has|have|had|was)? (unexpectedly|prematurely|forcibly|suddenly)? (closed|dropped|terminated|reset|aborted|disconnected|cut) (the|its|our|this|connection|socket|session|stream|unexpectedly|before|without|while|during)?
		(lost|lose|losing|dropped|broke|closed|aborted|resetting) (the|its|our|my)? ...2 (connection|connectivity|socket) !(pool|string)
		connection to ... (lost|broken|interrupted|dropped|closed)
		ECONNRESET
		ECONNABORTED
		ENETRESET
		EPIPE
		ESHUTDOWN
		ENOTCONN
		WSAECONNRESET
		WSAECONNABORTED
		WSAENOTCONN
		WSAESHUTDOWN
		broken pipe
		socket hang up
		forcibly closed
		software caused connection abort
		connection forced
		(remote|server|peer) (end)? disconnected
		remote disconnected
		(unexpectedly|suddenly|abruptly) (disconnected|closed|terminated|dropped)
		(closed|terminated|died|disconnected|ended) (unexpectedly|prematurely) !(with exit)
		premature (close|eof|disconnect|termination)
		prematurely (closed|ended|terminated)
		(response|body|transfer|stream|download|upload|request) (was|has been|is)? (ended|closed|aborted|terminated|interrupted|cut|stopped) (prematurely|unexpectedly|early|short|off|while|before)
		incomplete (read|chunked|response|body)
		chunked encoding (error|is incomplete)
		transfer closed with
		(bytes|data) (remaining|missing) to (read|receive)
		more expected
		empty (reply|response) from (the)? (server|host|upstream|peer)
		no (response|reply|answer|data) (was)? (received)? (from|by) (the)? (server|host|upstream|peer|remote|client|broker|target|service|endpoint)
		(goaway|go away) (received|frame|from|code|and|closed)
		server sent goaway
		refused stream
		(http2|h2|http) (stream|connection) (error|closed|reset|was)
		stream error
		stream (removed|terminated) by
		rst stream
		err (connection|network|socket|http2|quic|ssl) (reset|closed|aborted|changed|failed|protocol error|io suspended)
		err (internet disconnected|empty response|incomplete chunked encoding|network access denied|http2 protocol error|quic protocol error|connection failed)
		err (stream premature close|stream destroyed|socket closed|http2 stream error|http2 session error|socket connection timeout)
		use of closed (network)? connection
		(transport|channel|connection|client|session) is (closing|closed|shutting|shut)
		(attempt|try|trying) to (use|write|read|send) ...3 closed (connection|socket|stream|channel|client)
		(client|driver|channel|topology|pool|connection manager|session) (is|was|has been) (already)? (closed|destroyed|ended|disconnected) !(by user)
		communications link failure
		communication (error|failure|failed|exception|channel|link)
		(network|transport|socket|tcp|i o|io) (level|related)? (error|failure|failed|exception|problem|issue|glitch|interruption|interrupted|changed|connection lost) !(unknown)
		end of file on communication channel
		gone away
		not connected to (the)? (server|host|broker|peer|database)
		(connection|server) (has)? gone away
		connection (error|failure|failed|problem|issue|broken|broke|loss|dead|down)
		(bad|stale|invalid|broken|dead) connection !(string|url|uri|parameter|parameters|option|options|settings|id)
		bad record mac
		decryption failed or bad record
		ssl (connection|syscall|read|write|recv|send) (error|failed|has been closed|closed|was closed|unexpectedly|reset)
		ssl (error)? (syscall|zero return)
		(unexpected|violation of) eof (while|violation|on|from|reading|during)
		eof occurred in violation
		eof (while|during|on) (reading|receiving|handshake|the)? (from|response|header|packet|length|handshake|response headers)
		unexpected eof (while|on|during|from)
		unexpected (disconnect|disconnection|close|closure|connection close)
		disconnected from (the)? (server|host|broker|peer|database|socket|remote)
		(client|server|peer|worker|consumer|broker|node|database|redis|host) (was|has|got|is)? disconnected
		disconnected before
		hung up
		und err (socket|closed|destroyed|aborted|other side closed|body timeout)
		other side closed
		network (is|was)? (down|changed|lost|interrupted)
		ENETDOWN
		(link|interface) (is|went)? down
		WSAENETDOWN
		EPROTO
		request (was)? aborted
		the (operation|request|response|connection) (was)? aborted
		message truncated by peer
		channel (was|is)? (closed|broken)
		NETWORK EXCEPTION
		(server|broker|peer) (unexpectedly)? (hung|hangs) up`},
	{id: "transport.eof", class: NetworkTimeout, weight: wGeneric - 4, phrases: `
		unexpected eof
		unexpected end of (stream|transmission|response|body|connection|packet)
		(fetch|network) (request)? failed
		failed to fetch !(page|record|records|row|rows|user|users|data|object|list|metadata)
		network error
		could not send (the)? (request|command)
		request (send)? failed !(with|validation)
		(error|failed|failure|cannot|problem) ...2 (sending|receiving|reading|send|receive|recv|read|write) (request|response|data|from|headers|to|bytes|reply|packet|status|on)? ...2 (socket|server|upstream|peer|stream|remote|network|backend|response header)
		load failed
		terminated: other side`},
	{id: "transport.connect", class: NetworkTimeout, weight: wStatus + 2, trait: identifiers, phrases: `
		(cannot|error|problem|trouble|while|when) (connect|connecting|reach|contact|establish|reconnect|dial|dialing) (to|with|a|an|the|any|connection|our|its|server|host|database|broker|from|via|through)
		(cannot|error|failed) (make|open|establish|create|obtain|get|acquire) (a|an|the|any)? ...2 (connection|socket|session|tunnel) !(pool)
		cannot connect
		(connection|connect|dial) (attempt|request)? (failed|failure|unsuccessful|error) !(pool)
		(connect|connecting|connection) ... failed
		connect error
		dial (tcp|udp|unix|error|failed)
		error (while)? dialing
		no connection (could|can|was|is|available|made|established|to)
		(not|isnt) connected
		no route to host
		EHOSTUNREACH
		ENETUNREACH
		EHOSTDOWN
		WSAEHOSTUNREACH
		WSAENETUNREACH
		WSAEHOSTDOWN
		host is down
		(host|network|server|destination|endpoint|service|node|gateway|peer|broker|database|address|target|origin|net|site|port|registry|cluster) (is|are|was|were)? (currently|temporarily)? unreachable
		err address unreachable
		unreachable (host|network|server|destination|node|address|database)
		(unreachable|not reachable) (the)? (server|host|database|broker|service|endpoint|site|cluster|at|api)
		(no|not enough|zero) (reachable|available|live|alive|healthy|active) (host|hosts|server|servers|node|nodes|broker|brokers|peer|peers|backend|backends|upstream|upstreams|endpoint|endpoints|targets|replicas|members|workers|instances|primary|connection)
		(all|every) (brokers|hosts|servers|nodes|connections|endpoints|backends|peers|upstreams|replicas|shards|proxies) ...3 (down|failed|unreachable|unavailable|exhausted|dead|busy|offline)
		no (suitable)? servers? (available|found|could)
		no hosts? (available|reachable)
		server selection
		none of the configured nodes
		(broker|server|host|database|service|node|endpoint|cluster|redis|kafka|backend|upstream|proxy|daemon) ...2 (offline|not responding|unresponsive|down|not running|not accepting)
		is the (server|docker daemon|database|service|broker|daemon) running
		greeting never received
		(bootstrap|seed) (broker|brokers|server|servers|node|nodes) (disconnected|unavailable|unreachable)
		broker transport failure
		cannot (fetch|get|update|refresh|load) metadata
		max retries (per request)? (exceeded|limit)
		(socket|network|host|server) not (responding|answering)
		api connection error
		service connection (error|failed)
		ssh (connection|session) (failed|lost|closed|error)
		connection closed by (remote|foreign|invalid|authenticating|unknown)? (host|user)`},
	{id: "transport.timeout", class: NetworkTimeout, weight: wSaid + 4, trait: identifiers, phrases: `
		(not|never) receive ...4 (within|in time|before)
		(heartbeat|heartbeats|keepalive|keep alive|ping|pong) ...2 (missed|lost|failed|not received|expired)
		did not receive ...4 (within|in time|before)
		(i o|io|read|write|connect|connection|connecting|socket|request|response|gateway|handshake|dial|network|idle|header|headers|body|operation|server selection|statement|query|command|session|ack|acknowledgement|heartbeat|navigation|page|receive|send|recv|upstream|backend|api|http|https|tcp|udp|ssl|tls|dns|rpc|grpc|call|client|server|service|message|poll|polling|execution|invocation|function|task|job|transaction|transfer|upload|download|fetch|stream|consumer|producer|publish|broker|script|render|waiter|proxy|origin|inactivity|first byte|wait|waiting|lock wait|process|step|activity|workflow|worker|run|runtime|sub process) timeout !(must|is not|invalid|should|setting|parameter|option|field|seconds|value|ms|property|has to)
		timeout (expired|exceeded|reached|elapsed|error|exception|occurred|waiting|awaiting|while|was|after|on|from|reading|writing|connecting|during|for|to|period|communicating|contacting|before|at|trying|in|talking|has|fetching|loading|executing|calling|getting|sending|receiving|opening|limit|running|when|because|with|executing|polling|performing) !(be|must|is|invalid)
		deadline (has|was|is)? (exceeded|elapsed|expired|passed|reached|missed)
		(exceeded|exceeds|over|past|missed|hit|reached|passed) ...2 (deadline|time limit|timeout|time budget|execution time)
		time limit ...2 (exceeded|reached|hit|up|expired)
		ETIMEDOUT
		ESOCKETTIMEDOUT
		ETIME
		WSAETIMEDOUT
		ETIMEOUT
		(took|takes|taking|taken) too long !(name)
		(did|has|have|does) not (respond|reply|answer|complete|finish|return|become|start|come) ...3 (time|within|after|in|timely|before|seconds|minutes|period)
		(not|failed to) (respond|reply|answer|complete|finish) ...2 (time|within|timely)
		no (response|reply|answer|data|heartbeat|acknowledgement|ack|activity|progress|output) ...2 (within|after|in time|for <number>|in <number>)
		(operation|transfer|connection|server|request|query) (is|was)? too slow
		timely (manner|fashion)
		(within|in) the (permitted|allotted|allowed|expected|configured|given|specified) (time|timeout|period)
		(function|lambda|task|job|operation|request|query|process|step|activity|workflow|execution|invocation) (has|have|was)? timeout
		(completed|finished|responded) within
		canceling statement due to (statement|lock|user)
		(query|statement|execution) ...3 (interrupted|cancelled|killed) ...3 (time|timeout|max execution)
		(response|request|operation|query|reply) (time|timeout) (exceeded|limit)
		time (is|has|was)? (run out|ran out|expired|up)
		ran out of time
		(max|maximum) (execution|processing|run|running|wait|request|response|statement|query) (time|duration) ... exceed
		exceeded (the)? (max|maximum)? (execution|processing|run|running|wait|request|query) (time|duration)
		stalled (download|upload|transfer|connection|read|write|stream|for|more)
		read timeout error
		connect timeout error
		(server|host|peer) is not responding
		timeout error !(code)
		err (timed out|connection timed out|http2 ping failed|timeout)
		(expired|gave up|given up) (while)? (waiting|awaiting)
		(msg|message|request|local|operation|wait) timed out
		timed out (waiting|after|while|during|in|reading|when|connecting|trying|before)`},
	{id: "transport.timeout.word", class: NetworkTimeout, weight: wGeneric - 2, phrases: `
		timeout !(must|is not|invalid|should|setting|parameter|option|field|seconds|value|ms|property|has|be|cannot|not|only|accepts)
		timed out`},
	{id: "dns", class: TemporaryServiceError, weight: wStrong + 5, trait: identifiers, phrases: `
		no such host
		ENOTFOUND
		EAI (AGAIN|NONAME|FAIL|NODATA|SYSTEM)
		getaddrinfo
		gethostby (name|addr)
		name (or|and) service not known
		nodename nor servname
		(host)? name (does not|cannot be|could not be|was not|not)? (resolve|resolved|resolution|resolving) !(to a)
		name not resolved
		(host|hostname|domain|name|address) lookup (failed|failure|error|timed out)
		(cannot|could not|error|failed|unable to) (resolve|resolving|lookup|look up) ...3 (host|hostname|name|address|domain|proxy|dns|server|endpoint|<host>)
		(host|hostname|name|domain|address|server|<host>) ...2 (could not|cannot|can not) be resolved
		cannot resolve (host|hostname|domain|name|address|server|proxy|endpoint|service|dns|<host>) !(dependency|dependencies|module|symbol|reference|type|variable|import|path|conflict|package|plugin)
		(temporary|transient) (failure|error) in name resolution
		(cannot|could not) (resolve|look up) <host>
		unknown host !(key)
		unknown (host|hostname) (name|exception|error)
		host (not found|notfound) !(in)
		hostname notfound
		(NXDOMAIN|SERVFAIL)
		(dns|nameserver|name server) (error|failure|failed|lookup|resolution|problem|query|server|name|request|resolve|resolver|timeout|probe|answered)
		server misbehaving
		lookup <host> (on)? ... (no such|timeout|misbehaving|refused)
		lookup address information
		no address associated
		(host|domain) (name)? could not be found
		host lookup
		failed host lookup
		WSAHOST NOT FOUND
		HOST NOT FOUND
		NO DATA RECORD
		WSATRY AGAIN
		WSANO DATA
		name resolution (failed|failure|error|failed for)
		name resolution
		domain name not found
		authoritative name server
		(hostname|host) (is|was)? (unknown|unresolvable|unresolved)
		unresolved (address|host|hostname)
		nosuchhost
		no such host is known
		err name (not resolved|resolution failed)`},
	{id: "tls.certificate", class: AuthenticationFailure, weight: wCode + 1, trait: identifiers, phrases: `
		(certificate|cert|certificates) ...3 (expired|invalid|revoked|rejected|untrusted|mismatch|self signed|unauthorized|problem|error|unknown|required|unverified|verification|verify)
		(certificate|cert) (chain)? (verify|verification|validation) (failed|error)
		(certificate|cert) (is|was|has)? not (trusted|valid|yet valid|verified|signed|match)
		(certificate|cert) (is|was)? (signed|issued) by (an)? unknown (authority|ca|issuer)
		(certificate|cert) is valid for
		certificate (not valid|valid) (for|until|from|yet)
		x509
		(expired|invalid|untrusted|self signed|bad|revoked|wrong|unknown|unverified|mismatched|missing|no) ...2 (certificate|cert|certificates)
		unable to get (local)? issuer (certificate|cert)
		(unable|cannot|failed) ...2 verify ...4 (certificate|cert|host key|signature chain|leaf)
		unable to verify the first
		unable to verify leaf signature
		(hostname|host name|host|name|subject|altname|alternative) ...2 (mismatch|not match) !(type)
		hostname ip does not match
		err tls cert altname invalid
		err (cert|ssl) (date invalid|authority invalid|common name invalid|invalid|revoked|pinned key not in cert chain|weak signature algorithm|obsolete version)
		alternative certificate subject
		subject (name|alternative) ...4 (matches|match|mismatch)
		PKIX path
		unable to find valid certification path
		self signed cert
		depth zero self signed cert
		cert has expired
		unknown (ca|certificate authority|authority|issuer)
		host key (verification failed|has changed|mismatch|is unknown)
		(remote)? host identification has changed
		trust (relationship|anchor) !(score)
		SEC E (UNTRUSTED ROOT|CERT EXPIRED|WRONG PRINCIPAL|CERT UNKNOWN)
		(peer|server) (certificate|cert) (cannot|not|failed|could not|verification)
		(client|peer) did not (send|present|provide|return) a certificate
		tls (alert)? (bad certificate|unknown ca|certificate)
		alert (bad certificate|certificate|unknown ca|access denied)
		ssl certificate`},
	{id: "tls.protocol", class: InvalidInput, weight: wStrong + 2, trait: identifiers, phrases: `
		wrong version number
		(first)? record does not look like a tls
		(gave|sent|got|received) (an)? http response to (an)? https
		(plain|plaintext) http request ...3 https
		(no)? (shared|common) (cipher|ciphers|protocol|tls)
		no (common|overlapping|matching) (cipher|algorithm|key exchange|protocol|host key)
		(ssl|tls) ...3 (unsupported|alert handshake failure|handshake failure|protocol version|unrecognized name|no protocols available|wrong|version too low)
		unsupported (ssl|tls)
		alert (number|handshake|protocol|unrecognized|internal|inappropriate)
		handshake failure alert
		(ssl|tls) (is)? (required|not supported|not enabled|not configured)
		(server|host) (does not|doesnt) (support|speak|use) (ssl|tls|starttls|encryption)
		ssl was required
		(ssl|tls) is not (supported|enabled)
		version too low
		EPROTO wrong version
		inappropriate fallback
		unknown protocol
		ssl library problem
		err ssl (version or cipher mismatch|protocol error|unrecognized name alert)`},
	{id: "tls.handshake", class: NetworkTimeout, weight: wGeneric - 2, phrases: `
		(ssl|tls) (connection|handshake|connect) (error|failed|failure|was|terminated|could not be established)
		(failed|error|cannot) ...3 (ssl|tls) (handshake|connection)
		handshake (failed|error|did not complete|terminated|not finished|was)
		secure (channel|connection|tls connection)`},
	{id: "net.address", class: ResourceConstraint, weight: wStrong, trait: identifiers, phrases: `
		address already in use
		EADDRINUSE
		WSAEADDRINUSE
		(no|out of|run out of) (ephemeral|available|free|local)? ports
		port (is)? already (in use|allocated|bound)
		(cannot|could not) assign requested address
		EADDRNOTAVAIL`},
}
