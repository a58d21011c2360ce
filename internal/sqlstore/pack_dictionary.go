package sqlstore

// records is the dictionary for packed records. Its text resembles the records that decisions
// write today, and JSON members that often follow each other stand together. Stored records
// refer to positions in the text, so it must not change. A better dictionary gets a new
// version and is added beside this dictionary.
var records = newDictionary(
	`{"v":2,"action":"retry","rule":"schedule","class":"TemporaryServiceError","verdict":"retry","n":1,"of":3,"wait_us":30000000,"by":"http.503"` +
		`,"rank":"typed","saw":"503","code":"http.503","beat":[{"rule":"service.unavailable","class":"TemporaryServiceError","rank":"pattern","saw":"` +
		`"},{"rule":"transport.connect","class":"NetworkTimeout","rank":"pattern","saw":"` +
		`"}],"drawn_us":30000000,"nominal_us":30000000,"ceiling_us":36000000,"u":0.` +
		`,"growth":"30s × 2^(n−1)","spreading":"±20 %","borders":"cap 1h","backoff_from":"class","retries_from":"class","class_failures":1,"failures":1` +
		`,"max_attempts":100,"age_us":10000,"max_age_us":7776000000000,"policy":"default","hash":"` +
		`{"v":2,"action":"dead","rule":"schedule.exhausted","class":"NetworkTimeout","verdict":"retry","dead":"max_retries_exceeded","of":3,"by":"errno.ECONNRESET"` +
		`,"rank":"type","saw":"","code":"errno.ECONNRESET","beat":[{"rule":"http.429","class":"RateLimitExceeded","rank":"text","saw":"429"` +
		`}],"count":"total","retries_from":"schedule","class_failures":4,"failures":4,"max_total_retries":10,"max_attempts":` +
		`{"v":2,"action":"dead","rule":"policy.verdict","class":"InvalidInput","verdict":"permanent","dead":"non_retriable_error","by":"input.form"` +
		`,"rank":"pattern","saw":"invalid","beat":[{"rule":"validation.field","class":"ValidationError","rank":"code","saw":"` +
		`"}],"count":"total","retries_from":"class","class_failures":1,"failures":1,"max_attempts":100,"age_us":` +
		`{"v":2,"action":"retry","rule":"schedule","class":"UnknownError","verdict":"unknown","n":2,"of":5,"by":"unknown","u":0.` +
		`,"growth":"0s, …","backoff_from":"schedule","count":"total","retries_from":"schedule","class_failures":2,"failures":2,"max_attempts":` +
		`,"class":"RateLimitExceeded","verdict":"throttle","n":1,"of":10,"wait_us":60000000,"by":"rate.limit"` +
		`,"hint_us":60000000,"hint_mode":"cap","backoff_from":"builtin","retries_from":"builtin","class_failures":3` +
		`,"class":"QuotaExceeded","verdict":"quota","class":"ResourceConstraint","verdict":"class":"AuthenticationFailure","class":"PaymentRequired"` +
		`,"class":"ContentViolation","class":"InputExceedsLimits","class":"PermissionError","class":"NotFound","class":"BusinessLogicError"` +
		`,"class":"AttemptTimeout","class":"Panic","class":"Cancelled","verdict":"dependency_down","verdict":"cancelled","rank":"mark","saw":"","rank":"cause","saw":"` +
		`"action":"snooze","action":"cancel","action":"hand_back","rule":"mark.permanent","rule":"policy.no_retry","rule":"ceiling.attempts","rule":"ceiling.age"` +
		`"rule":"policy.max_total_retries","rule":"schedule.permanent_exit_codes","rule":"policy.hint_max","queue":"","priority":1,"deadline_us":,"cost":,"max_cost":` +
		`,"rules":["","backoff_from":"kind","retries_from":"kind","backoff_from":"default","retries_from":"default","backoff_from":"job","retries_from":"job"` +
		`"would":{"action":"retry","rule":"schedule","n":1,"of":3,"wait_us":` +
		`"rule":"resource.","rule":"limit.","rule":"quota.","rule":"generic.","rule":"broker.","rule":"permission.","rule":"notfound.","rule":"model."` +
		`"rule":"mail.","rule":"db.state","rule":"cloud.retriable","rule":"tls.","rule":"time.","rule":"process.","rule":"auth.","rule":"payment.","rule":"media."` +
		`"rule":"content.","rule":"business.state","rule":"pg.40001","rule":"net.","rule":"exit.1","rule":"app.","rule":"grpc.UNAVAILABLE"` +
		` connection refused connection reset by peer Service Unavailable timed out i/o timeout too many requests rate limit exceeded not found unexpected status `,
)
