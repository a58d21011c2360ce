package failure

// authRules are about who one is.
var authRules = []rule{
	{id: "auth.credentials", class: AuthenticationFailure, weight: wStrong + 4, trait: identifiers, phrases: `
		(E401|ENEEDAUTH|EOTP)
		(invalid|incorrect|wrong|bad|missing|expired|revoked|no|unknown|unauthorized|inactive|disabled|deleted|fake|rejected|unrecognised|empty|insufficient|outdated|stale|mismatched|compromised|leaked) ...2 (api key|apikey|x api key|access key|access token|auth token|bearer token|authentication|auth|credential|credentials|password|login|client secret|client id|username or password|user name or password|oauth token|refresh token|id token|session token|security token|jwt|jwt token|signature|secret key|authorization header|authorization|auth header|authentication token|authentication credentials|personal access token|service account|hmac|app key|subscription key|login credentials|passphrase|pin|otp|mfa token|user credentials|key id|authenticity token|csrf token|app password|certificate thumbprint|bot token|webhook secret) !(format|timeout|timed out|response received|handler|cipher)
		(api key|apikey|access key|access token|auth token|bearer token|credential|credentials|password|client secret|oauth token|refresh token|id token|session token|security token|jwt|token|session|secret|signature|login|service account key|authentication token|authentication|cookie|cookies|otp|passcode|ticket|sas|license key) ...3 (is|was|are|has|have|been|were|did|does)? (invalid|incorrect|wrong|expired|revoked|missing|required|rejected|unknown|not match|not recognized|malformed|expired or revoked|disabled|deleted|denied|refused|inactive|mismatch|not match|not accepted|not found|not set|has expired|cannot be verified|verification failed|could not be verified|is not valid|leaked|compromised|unauthorized) !(endpoint|type)
		(token|session|credential|credentials|password|login|grant|key|signature|assertion|sas|ticket|cookie) (has|is|was|have|had|are)? (already|been)? (expired|revoked|invalidated)
		(token|key|credential|password) (expired|invalid|revoked|mismatch|rejected) !(at|position|count|limit|space|too)
		expired (token|session|credential|signature|credentials|access)
		ExpiredToken
		ExpiredTokenException
		InvalidAccessKeyId
		(access key|api key|key id|token|credential|client id|account key) ...6 noexist
		SignatureDoesNotMatch
		InvalidClientTokenId
		UnrecognizedClientException
		IncompleteSignature
		InvalidSignatureException
		MissingAuthenticationToken
		MissingAuthenticationTokenException
		AuthFailure
		AuthFailed
		InvalidAuthenticationInfo
		InvalidAuthenticationToken
		NotAuthorized
		NoCredentials
		NoCredentialsError
		CredentialsNotFound
		CredentialUnavailable
		RequestTimeTooSkewed
		RequestExpired
		InvalidGrant
		invalid (grant|client|token|login|auth|scope|credentials)
		unauthorized client
		account inactive
		token revoked
		not authed
		invalid auth
		AuthenticationFailed
		AuthenticationFailure
		authentication (failure|failed|error|exception|required|unsuccessful|rejected|denied|is required|was rejected|not successful|has failed|needed|mechanism|credentials|info) !(temporary|temporarily|server is unavailable|service unavailable|backend)
		(failed|failure|failing|unsuccessful|error|unable|cannot|could not|must) ...2 (authenticate|authentication|authenticating|log in|login|sign in|signin|logon) !(with timeout|timed out)
		(login|logon|sign in|auth|signin|log in) (is|was|has)? (been)? (failed|failure|required|denied|incorrect|refused|unsuccessful|rejected|needed|disallowed)
		(please|must|need to|have to|required to|you need|you must|first) (first)? (log in|login|sign in|authenticate|re authenticate|reauthenticate|re login|be logged in|be authenticated|be signed in|log in again)
		(not|isnt) (logged|signed) in
		unauthenticated !(users can)
		(unable to|cannot|could not|failed to|no) (locate|load|find|obtain|get|retrieve|valid|default|provide|refresh)? ...2 (credentials|credential) !(type)
		(credentials|credential|token) (provider|providers|chain) ...3 (failed|error|load|exhausted|valid)
		could not load (the)? default credentials
		(no|missing|without) (authorization|authentication|auth|api key|bearer|password|access token|authentication token|credentials|token|auth header|credential|valid token|csrf) (header|headers|token|information|credentials|was|is|supplied|provided|found|in|data|present|specified|parameter|set)?
		no password (supplied|provided|was)
		no pg hba conf entry
		no <path> entry for host
		entry for host
		(kdc|kerberos|krb5|keytab)
		password authentication failed
		(username|user name|user|login|email|account) (or|and) (password|passphrase|api key|secret|token)
		(bad|invalid) (username|user) (or)
		(authentication|auth|login|access|authorization) (credentials|details|token|data) (were|was|are)? (not|invalid|missing)
		(request|requests) ...2 (missing|had invalid|invalid|without|lacks|requires) ...3 (authentication|authorization|credential|credentials)
		(requires|require|need|needs) ...2 (authentication|login|authorization|sign in|credentials|logging in|oauth)
		authorization (required|failed|header|error|failure|has been denied|denied|invalid|is required|token|information)
		(proxy)? (authentication|authorization) required
		(clock|time) (skew|too skewed|is too large|is wrong|difference)
		request timestamp ...3 (expired|old|future|skew|outside)
		timestamp (for this request)? ... (recvwindow|outside)
		(signature|hmac|webhook signature) (does not match|mismatch|verification|verify|validation|failed|error|invalid|expired|is invalid|not valid|check)
		(the)? security token included
		(multi factor|two factor|2fa|mfa|second factor|otp|captcha) ...3 (required|needed|enabled|code|must|authentication|challenge|failed|invalid)
		access denied for user
		login denied
		wrong password
		(account|user|login) (is|has been|was)? (locked|locked out|temporarily locked) !(row|table|record)
		WRONGPASS
		NOAUTH
		AUTH NULL
		kerberos ...4 (failed|error|expired|credentials)
		gss (api)? (error|failure|init)
		sasl ...3 (failed|failure|error|authentication|mechanism)
		(ntlm|ldap|saml|oidc|oauth|oauth2|sso|iam|sts|aad|gss|mfa|pam) (authentication|error|login|auth|bind|handshake|token)? (failed|failure|error|invalid|denied|exception)
		(cannot|could not|error|failed|unable) ...3 (fetch|refresh|get|exchange|obtain|retrieve|acquire|verify|decode|validate) (a|an|the|oauth2|access|auth|new|id)? ...2 token !(at|near)
		cannot fetch token
		interaction required
		consent required
		reauth related error
		re auth
		(permission denied|authentication failed) publickey
		publickey
		no (supported|more) authentication (methods|method)
		too many authentication failures
		AADSTS <number>
		auth (plugin|method) ...4 (not supported|cannot be loaded|unknown)
		starttls (command)? (first|required|is required)
		(must|should) issue a starttls
		proxy requires authentication
		gated (repo|model|repository|dataset)
		is gated
		(cookies|cookies from browser|account credentials) (are|is)? (required|needed|no longer valid|to provide)
		confirm you are not a bot
		confirm youre not a bot
		enable javascript and cookies
		just a moment
		(verify|checking|confirm|prove) (that)? (you|youre|you are|your browser|if the site) ...2 (human|robot|bot|browser|secure)
		(missing|no) (csrf|xsrf)
		(csrf|xsrf) (token|verification|failed|check)`},
	{id: "auth.unauthorized", class: AuthenticationFailure, weight: wSaid + 2, trait: identifiers, phrases: `
		unauthorized !(to|operation)
		401 unauthorized
		authenticate
		authorization required
		client is unauthorized`},
	{id: "auth.word", class: AuthenticationFailure, weight: wWeak + 2, phrases: `
		authentication
		(credential|credentials)
		(log in|login|sign in|logged in)
		(password|passphrase)
		unauthorized
		oauth`},
}

// permissionRules are about what one may do.
var permissionRules = []rule{
	{id: "permission.denied", class: PermissionError, weight: wStatus + 3, trait: identifiers, phrases: `
		SQLITE (READONLY|PERM|AUTH)
		account problem
		not signed up
		ER (TABLEACCESS DENIED ERROR|SPECIFIC ACCESS DENIED ERROR|DBACCESS DENIED ERROR)
		opt in required
		(permission|permissions) (is|was|were|are|has been)? (denied|missing|required|error|failure|refused|insufficient|not granted|not allowed|violation|exception)
		(access|authorization|operation|request|privilege|action|entry|query|connection|object access|write access|read access) (is|was|has been|to|has)? ...3 denied
		(access|authorization) (is|was|has been|is)? (denied|forbidden|refused|restricted|revoked|blocked|not allowed|not configured|disabled|not granted|prohibited|control)
		(insufficient|missing|no|lacks|lack|lacking|inadequate|required|requires|need|needs|without|necessary|appropriate|invalid|elevated|additional|proper|admin|administrator|incorrect|not enough|adequate|write|read) ...2 (permission|permissions|privilege|privileges|scope|scopes|rights|entitlement|entitlements|clearance|access rights|authority) !(fields|to file format)
		(not|isnt|arent|cannot|doesnt) ...3 (permission|permissions|privilege|privileges|right|rights|entitled|entitlement|authority|access) (to|for|on|granted)
		(not|no) ...2 (have|has|had|got|with|hold|possess) ...3 (permission|permissions|privilege|privileges|access|rights|scope|scopes|role|roles|authority|authorization)
		(no|without|lacks|lacking|have not|has no|have no) (access|permission|permissions|privileges|rights) (to|for|on)
		does not have ...4 access
		unauthorized (to|operation|for|access|action)
		(not|isnt) (authorized|entitled|privileged) (to|for)
		(not|isnt) (a|an|the)? (owner|member|admin|administrator|collaborator|participant) (of|in)
		not in channel
		(only|must be|requires|reserved for|restricted to|limited to|available to|need to be|must have|for) ...2 (admin|admins|administrator|administrators|owner|owners|superuser|superusers|root|moderators|moderator|root privileges|superuser privilege|staff|verified users)
		(admin|owner|member|superuser|root|super) (only|privilege|privileges|access|rights|role|required|access required)
		notallowed (to|by|on|in your) !(have|exceed|contain|be)
		(you|user|client|caller|account|role|principal|app|application|bot|consumer|token|key|ip|address|host) (is|are|was)? notallowed
		AccessDenied
		AccessDeniedException
		UnauthorizedOperation
		AuthorizationError
		AuthorizationFailed
		AuthorizationPermissionMismatch
		InsufficientAccountPermissions
		InsufficientPermissions
		insufficientPermissions
		PermissionDenied
		PermissionError
		AllAccessDisabled
		EACCES
		EPERM
		NOPERM
		EROFS
		WSAEACCES
		InsufficientPrivileges
		NoPermission
		ForbiddenException
		AuthorizationHeaderMalformed
		missing scope
		(operation|action) notallowed
		operation not permitted
		permission denied
		(user|account|consumer|project|customer|sender|bot|member|organization|team|application|app|service|subscription|tenant|repository|api key|domain|ip|ip address|workspace|profile|channel|page) (is|was|are|has been|have been|were)? (been|currently|temporarily|permanently)? (suspended|banned|blocked|deactivated|disabled|blacklisted|blocklisted|denylisted|restricted|terminated|frozen|closed|barred|revoked|locked|deauthorized|on hold)
		(suspended|banned|blocked|deactivated|disabled|restricted|terminated|frozen|deleted) (account|user|key|project|ip|by administrator|by admin|by the owner|member|app|api key|customer|consumer|organization)
		blocked by (cors|policy|robots|administrator|admin|firewall|waf|your|the server|client|network policy|the owner|security|cloudflare)
		blocked the (request|access|connection)
		(policy|rule|rules|acl|firewall|waf|policies|security policy|guardrail|rls) (denied|denies|violation|rejected|blocks|blocked|forbids|does not allow|prohibits|disallows)
		explicit deny
		identity based policy
		service control policy
		not (subscribed|enrolled|registered|allowlisted|whitelisted|onboarded) (to|in|for)
		(whitelist|allowlist|whitelisted|allowlisted)
		(ip|ip address|address|origin|domain|referer|referrer|country|region|location|user agent) ...3 (notallowed|blocked|unsupported|restricted|blacklisted|denied|not on|banned)
		(country|region|location|territory) ...3 (unsupported|restricted|unavailable|blocked)
		user location is unsupported
		(read only|readonly) (file system|filesystem|volume|mount|access|user|token|key|property|field|attribute|mode is) !(transaction|replica)
		file system is read only
		(write|update|delete|insert) (is|are)? (protected|forbidden|disabled|prohibited)
		(api|service|feature|function|endpoint|method|plugin|integration|model|operation|capability) (has not|is|was|has|hasnt|have)? (not|been)? (been)? (enabled|activated|disabled|turned off|deactivated|blocked|used in project)
		(enable|activate) (it|the api|this api|access)
		accessNotConfigured
		SERVICE DISABLED
		cross origin
		(cors|csp) (policy|error|request|missing|header)
		robots txt
		sandbox (mode|restrictions|account)
		not verified
		(not|isnt) accessible (by|for|to|from|with|without)
		(no|without|lacks) access
		(email address|sender|identity|domain|account|phone number|number) (is|are|was|has)? (not|unverified|not been)? (verified|unverified|confirmed|approved)
		pending (approval|verification|review)
		requires (approval|verification|elevation)
		elevation required
		impersonat
		notallowed to (access|perform|use|do|send|read|write|execute|call|invoke|create|delete|update|view|post|publish|relay)
		relay (access)? (denied|notallowed|not permitted|is not)
		relaying denied`},
	{id: "permission.row", class: PermissionError, weight: wDecides, trait: identifiers, phrases: `
		row level security
		(iam|bucket|key|resource|network|organization|org|session|access|scp|rbac|firewall|security group) policy ...4 (denies|denied|prevents|does not allow|forbids|restricts)`},
	{id: "permission.forbidden", class: AuthenticationFailure, weight: wSaid, trait: identifiers, phrases: `
		(is|access|error|status|request|operation|forbidden|403|was|are|http|server|returned|code|action) forbidden
		forbidden !(word|words|character|characters|content|fruit|island|name)`},
	{id: "permission.word", class: PermissionError, weight: wWeak + 4, phrases: `
		(read only|readonly|immutable) !(replica|transaction|mode|option)
		E403
		(denied|denies|deny)
		notallowed
		(permission|permissions|privilege|privileges)
		unauthorized
		(suspended|banned|deactivated|blacklisted)
		disabled
		blocked
		restricted`},
}
