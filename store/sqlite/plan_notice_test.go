package sqlite

const (
	windowByTarget = "SEARCH redrive_windows USING PRIMARY KEY (scope=? AND target=?)"
	itemsByTarget  = "SEARCH redrive_window_items USING PRIMARY KEY (scope=? AND target=?)"
)

// writingNotices holds the statements about notifications that run in the write transaction.
var writingNotices = []plan{
	{name: "insRules", want: noPlan},
	{name: "selDeadAttrs", want: deadByJob},
	{name: "selWindow", want: windowByTarget},
	{name: "ofWindows", want: "SEARCH redrive_windows USING PRIMARY KEY (scope=?)"},
	{name: "dueWindows", want: "SEARCH redrive_windows USING INDEX redrive_windows_due (due_at<?)"},
	{name: "putWindow", want: noPlan},
	{name: "delWindow", want: windowByTarget},
	{name: "selItems", want: itemsByTarget},
	{name: "insItem", want: noPlan},
	{name: "delItems", want: itemsByTarget},
}

// readingNotices holds those that run on connections for reading.
var readingNotices = []plan{
	{name: "selRules", want: "SCAN redrive_rules"},
	{name: "selRulesHash", want: "SCAN redrive_rules"},
	{name: "nextWindow", want: "SEARCH redrive_windows USING COVERING INDEX redrive_windows_due (due_at>?)"},
}
