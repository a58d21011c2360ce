package failure

// mailRules are what mail servers say.
var mailRules = []rule{
	{id: "mail.temporary", class: TemporaryServiceError, weight: wCode + 2, trait: identifiers, phrases: `
		(greylisted|greylisting|greylist|graylisted|graylisting|graylist)
		temporary (authentication|local|lookup|server|dns|system|delivery|mail|backend) (failure|error|problem|rejection|deferral)
		temporarily (deferred|rejected|delayed)
		temporary (deferral|rejection)
		(mail|message|delivery) (was|has been|is|temporarily)? (deferred|delayed) !(for approval)
		(mailbox|recipient) (is)? (busy|temporarily|locked)
		local error in processing
		local problem
		(server|service) (not available|unavailable|is busy|configuration problem) closing
		closing (transmission|transaction) channel
		tls unavailable due to
		insufficient system (storage|resources)
		authentication server (is)? (down|unavailable|lost)
		connection lost to authentication server`},
	{id: "mail.address", class: InvalidInput, weight: wStrong + 4, trait: identifiers, phrases: `
		(mailbox|recipient|email account|inbox|addressee|recipient address|email address|destination address|rcpt|mail account) ...3 (unknown|noexist|notfound|invalid|disabled|inactive|unavailable|rejected|no longer|is not local|not accepted|bounced|undeliverable|does not like|tried to reach|over|refused)
		email account that you tried to reach
		(no such|unknown|invalid|bad|nonexistent|undeliverable|unrouteable|unroutable|illegal|malformed) (recipient|mailbox|email address|local part|destination address|mail address|host part|address syntax|rcpt|destination mailbox|recipient address|sender address|sender)
		no such user here
		(user|recipient|mailbox|account|address) (is)? unknown (in|here|at|to)
		user unknown
		unknown user
		unknown or illegal alias
		(recipient|sender|relay|from|to|destination) address (rejected|refused|syntax|undeliverable|invalid)
		recipient (rejected|refused|unknown|not local|suspended)
		(does not|doesnt) have an? ...3 account
		invalid (recipient|recipients|to address|from address)
		all recipients (failed|rejected|were)
		no (valid)? recipients
		(domain|mx|mail server) ...3 (no mx|does not accept mail|null mx|no mail)
		does not accept (mail|email)
		hard bounce
		address syntax
		missing (recipient|from|to|subject|sender) (address|header|field)?`},
	{id: "mail.refused", class: PermissionError, weight: wStrong + 4, trait: identifiers, phrases: `
		(sender|from address|helo|ehlo|your ip|reverse dns|ptr|spf|dkim|dmarc|sender domain|from domain) ...4 (rejected|notallowed|blocked|blacklisted|listed|denied|fail|failed|unauthorized|not verified|softfail|policy|blocklisted|refused|not pass|not aligned)
		(spf|dkim|dmarc) (check|policy|fail|failed|failure|alignment|validation|verification)
		(spamhaus|spamcop|barracuda|rbl|dnsbl|sorbs|uribl|poor reputation|low reputation|bad reputation)
		unauthenticated (email|sender|mail) ...4 (not accepted|rejected)
		(relay|relaying) (access)? (denied|notallowed|prohibited)
		unable to relay
		(email address|sender|identity) is not verified
		(not|isnt) (allowed|authorized|permitted|authorised) to (send|relay)
		sender (verify failed|notallowed|denied|address rejected)`},
	{id: "mail.rate", class: RateLimitExceeded, weight: wCode + 4, trait: identifiers, phrases: `
		too many (messages|emails|mails) (from|per|in|this|sent|to)
		too many concurrent smtp
		too many (smtp)? connections (from|per|in) (your|this|the same|one)
		unusual rate
		(receiving|sending) (mail|messages|email) (at a rate|too quickly|too fast|at rate)
		(maximum|max) (sending|send) rate
		connection rate limit
		sending rate exceeded`},
}
