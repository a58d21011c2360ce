package failure

// frameworkRules are what validation libraries and parsers of options say. Their
// sentences name fields and options by whatever the program calls them (Timeout,
// rateLimit, --rate-limit), so they go before what those names would mean.
var frameworkRules = []rule{
	{id: "validation.framework", class: ValidationError, weight: wDecides + 5, trait: identifiers, phrases: `
		field validation for <any> failed
		(validation|binding) for <any> failed on
		must (not)? be (less|greater|more|lower|higher|longer|shorter|at least|at most) than <number>
		must be (a|an) (email|integer|string|number|boolean|array|object|date|uuid|url|enum)
		input should be (a|an|less|greater|valid)
		(unknown|unrecognized|unsupported|invalid) (option|flag|command line option|switch)
		unknown unit
		no such option
		<number> validation (error|errors) for
		RecordInvalid`},
	{id: "payment.subscriber", class: PaymentRequired, weight: wDecides, phrases: `
		only ...2 (available|accessible|open) ...2 (paying|premium|paid) (subscribers|members|users|customers|plans)
		please subscribe
		(top up|add funds|recharge|refill) to (continue|run|use|keep|resume|proceed)
		(balance|credit|credits) (is|are) 0`},
	{id: "notfound.program", class: NotFound, weight: wCode + 4, phrases: `
		cannot run program ...6 no such file or directory`},
}
