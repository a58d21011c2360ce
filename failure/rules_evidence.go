package failure

// evidenceRules find codes and statuses within texts. What the number says is in
// the tables of codes_*.go; a number that is not used as a code is not looked at.
var evidenceRules = []rule{
	{id: "http", weight: wStatus, trait: readStatus, phrases: `
		(status|statuscode|httpstatus|httpstatuscode|http status|status code|response code|response status|http code|http error|http response|error status|http status code|response status code|statusline|status line|httpcode|upstream status|errorcode|error code|result code|http request status) (code|is|was|of|from|equals)? <status>
		(http|https) <status>
		(http|https) <id> <status>
		(http|https) (error|failure|response|request failed with|returned|exception|client error|server error|status)? (code)? <status>
		(code|err code|errcode|ecode|rc) <status> !(words|bytes|ms)
		(error|err|failure|fault|exception|errors) <status> !(occurred in|of|rows|items|records|files|frames|lines|bytes|ms|seconds|objects|messages|s|times|tokens|images|pages|documents|while parsing)
		(returned|returns|return|received|receive|responded|responds|response|answered|got|gave|replied|reply|respond|failed|rejected|result|getting) (with|by|as|an|a|the|of|unexpected)? ...1 (error|status|http|code|response|status code|http status|http error|http code|returned error|statuscode|http response|failure)? (code|of|was)? <status> !(rows|row|items|records|results|bytes|files|lines|frames|documents|entries|objects|messages|ms|seconds|s|kb|mb|px|pixels|tokens|times|images|pages|users|events|retries|attempts|characters|chars|chunks)
		server returned <status>
		too many <status>
		<status> from (the)? (upstream|server|backend|api|origin|proxy|gateway|service|remote|<host>)
		(last|final) (response|status|answer|result|reply) (was|is)? (an|a)? (http)? <status>
		server returned ...1 <status>
		url returned error <status>
		requested url returned error <status>
		(unexpected|bad|invalid|non ok|non 2xx|unsuccessful|wrong) (http)? (status|response|statuscode|response status|status code|response code) (code|from server|received|of|returned|received from server)? ...3 <status>
		(api|request|server|client|response|http|service|upstream|backend|call|fetch|webhook|gateway|proxy|upload|download) (error|failed|failure|request failed|responded|returned|exception) (with|code|status|returned|response)? ...1 <status> !(rows|items|records|bytes|files|ms|seconds|times)
		<status> (client|server) error
		<status> (http)? (status|response|error) code
		400 bad request
		401 (unauthorized|authorization required)
		402 payment required
		403 forbidden
		404 (not found|notfound)
		405 method not allowed
		406 not acceptable
		407 proxy authentication
		408 request time
		409 conflict
		410 gone
		411 length required
		412 precondition failed
		413 (request|payload|content|entity)
		414 (request )?uri
		415 unsupported media
		416 (requested)? range
		422 unprocessable
		423 locked
		424 failed dependency
		425 too early
		426 upgrade required
		428 precondition required
		429 (too many|ratelimit|rate limit|quota|resource)
		431 request header
		451 unavailable
		499 client closed
		500 (internal|server error|error)
		501 not implemented
		502 (bad gateway|proxy error)
		503 (service|slow|backend|server|temporarily|unavailable|over capacity)
		504 gateway
		505 http version
		507 insufficient
		508 loop
		511 network
		520 (unknown|web server)
		521 (web|origin)
		522 (connection|origin)
		523 origin
		524 (a timeout|timeout)
		525 ssl
		526 invalid ssl
		529 (overloaded|site)
		(connect tunnel failed|tunnel connection failed|connect tunnel|proxy connect) ...2 <status>
		tunnel connection failed <status>
		googleapi error <status>
		(trying to|while|when) ...3 status <status>
		(smtp|smtp error|smtp code|said|server response|smtp response|smtp reply|mail server|remote server said|remote host said|rcpt to|mail from|data command|delivery failed|bounced|responded with|diagnostic code smtp) <status>
		(SMTPDataError|SMTPRecipientsRefused|SMTPAuthenticationError|SMTPSenderRefused|SMTPResponseException|SMTPServerDisconnected|SMTPConnectError|SMTPHeloError) ...2 <status>
		recv failure <status>
		exception <status> reason
		(exception|handshake terminated by server|channel closed|connection closed) ...2 <status>`},
	{id: "smtp", weight: wStrong, trait: readReply, phrases: `
		<status> <id>`},
	{id: "exit", weight: wGeneric, trait: readExit, phrases: `
		exit (status|code|value|with|statuscode)? <number> !(of|more|seconds)
		exited (with)? (status|code|exit code|non zero|return code)? ...1 <number>
		(exit code|exit status|exitcode|returncode|return code|exitstatus|exit|process exit|retcode|rc|return status|errorlevel) (is|was|of|with|equals)? <number>
		(non zero|nonzero|unexpected|bad) (exit|return) (status|code|value)? <number>
		returned (non zero|nonzero)? exit (status|code) <number>
		(terminated|finished|ended|failed|died|quit|completed|crashed|stopped|exits|returned) with (exit|return|error|status)? (code|status) <number>
		(process|command|program|ffmpeg|subprocess|child|container|task|script|converter) (exited|returned|failed with code) <number>`},
	{id: "errno", weight: wStrong, trait: readErrno, phrases: `
		errno <number>
		os error <number>
		(system|syscall|socket|io) error <number>
		error <number> connecting
		error <number> while
		failed ...2 (errno|errno code) <number>
		connect failed <number>
		(connect|connection|socket) (error|failed|errno) <number>
		errorno <number>
		error code <number> (connection|no route|network|host|operation)`},
	{id: "winerror", weight: wStrong, trait: readWinError, phrases: `
		(WinError|WSAGetLastError|socket error|winsock error|win32 error|SocketErrorCode|os error|windows error|ErrorCode|socket error code|native error code|wsa error) <number>`},
	{id: "pg", weight: wStrong, trait: readSQLState, phrases: `
		(sqlstate|sql state|sqlerrcode|pgcode|pg error code|sql error code) <value>
		(error|err) <number> <value>
		sqlstate <value> <number>`},
	{id: "mysql", weight: wStrong, trait: readMySQL, phrases: `
		(mysql|mariadb|sql|mysqld|operationalerror|programmingerror|integrityerror|dataerror|interfaceerror|internalerror|databaseerror|errno|er|query|1 of) (error|code|errno|exception|error code)? ...1 <number>
		error <number>
		error code <number>
		(ORA|oracle error) <number>
		ORA <id>
		(msg|sqlserver|sql server|mssql|sql server error|tsql|sqlclient|server error|sqlexception|sql error|error number|number) <number>
		general error <number>`},
	{id: "curl", weight: wStrong, trait: readCurl, phrases: `
		(curl|libcurl|curle) (error|code|exit code|errno|error code|returned|exited with|failed with)? (code)? <number>`},
	{id: "hint", weight: 1, trait: readHint, phrases: `
		(retry|try|retrying|again|available|wait|waiting|resets|reset|delay|sleep|backoff|back off|cool down|cooldown|reattempt|resend|resubmit|reconnect|attempt) (again|it|the request|your request|this request|at least|for|later|up to|limit resets|up)? (in|after|for|within|about|approximately|until|of)? (about|approximately|at least|another|next)? <any> (s|ms|m|h|d|sec|secs|second|seconds|min|mins|minute|minutes|hour|hours|day|days|milliseconds|msec)
		(retry|try|again|wait|available|resets|reset) (again)? (in|after) (about|approximately|at least)? <any>
		(retry after|retryafter|retry delay|retrydelay|retry in|retry after ms|retry after seconds|retry after s|x ratelimit reset after|wait seconds|retry after sec) (ms|seconds|header|is|of|value)? <number>
		(retry after|retry delay|retry in|retry after ms|x ratelimit reset requests) <any>
		wait <number> (seconds|s|minutes|ms)
		flood wait <number>
		FLOOD WAIT <number>
		wait of <number> seconds
		(in|en|dans|em|tra|через|nach|for) <number> (sekunden|minuten|segundos|minutos|secondes|secondi|秒)
		<number> 秒 (后|後)
		a wait of <number>
		reset after <any>
		please wait <any>
		(slow down|reduce) ...6 <number> seconds`},
	{id: "limit.asked", class: InputExceedsLimits, weight: wDecides, trait: readLimit, phrases: `
		limit <number> requested <number>
		limit <number> ... requested <number>
		limit <number> used 0 requested <number>`},
	{id: "mark.attempt", weight: 1, trait: history, phrases: `
		(attempt|try) (no|number|nr)? <number>
		(first|second|third|fourth|fifth|final|last|1st|2nd|3rd) (attempt|try|retry)
		(last|final|latest|underlying|root|original|actual) (error|cause|failure|exception|reason)
		giving up
		gave up after
		caused by
		root cause
		during handling of the above exception another exception occurred
		(the above exception was)? the direct cause of the following exception
		nested exception is
		inner exception`},
	{id: "mark.past", weight: 1, trait: past, phrases: `
		(while|when) retrying (after|because)
		retrying (after|because of|due to)
		(previous|previously|earlier|prior|formerly|preceding|initial|initially) (error|errors|attempt|attempts|failure|failures|failed|cause|was|were|run|try|request)
		(retries|attempts|tries) ...1 (rate|timeout|timed|because)
		(recovered|recovering) (from|after)
		(instead of|rather than|not because of|unlike)
		(retried|retry) <number> times`},
	{id: "mark.cleanup", weight: 1, trait: cleanup, phrases: `
		(clean|cleaning|cleaned|tidy|tidying) (up)? (also)? (failed|error|of|after|temp|temporary)?
		(cleanup|teardown|rollback|roll back|rolling back|undo)
		(also|additionally|and then|then|moreover|furthermore|in addition|besides) ...1 (failed|could not|cannot|error|unable)
		(could not|cannot|failed to|error|failed|unable to|while) (remove|removing|delete|deleting|clean|cleaning|close|closing|unlink|unlinking|rollback|roll back|release|releasing|undo|stop|abort|aborting|notify|log|write log) ...2 (temp|temporary|tmp|file|files|directory|partial|upload|connection|lock|transaction|it|<path>|multipart|output|scratch|workdir|log|report|status|artifact)?
		(remove|unlink|rmdir|delete|close|rm) <path>
		(deferred|defer) (close|cleanup|error)`},
}
