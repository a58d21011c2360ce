package main

import "regexp"

// A label is what the surroundings of a run make true of its error.
type label struct {
	class     string
	also      []string
	retriable bool
	ambiguous bool
}

var (
	missing  = label{class: "NotFound", also: []string{"InvalidInput", "ValidationError"}}
	badInput = label{class: "InvalidInput", also: []string{"ValidationError", "BusinessLogicError"}}
	denied   = label{class: "PermissionError", also: []string{"AuthenticationFailure"}}
	full     = label{class: "ResourceConstraint", also: []string{"TemporaryServiceError"}, retriable: true}
	network  = label{class: "NetworkTimeout", also: []string{"TemporaryServiceError"}, retriable: true}
	service  = label{class: "TemporaryServiceError", also: []string{"NetworkTimeout"}, retriable: true}
	login    = label{class: "AuthenticationFailure", also: []string{"PermissionError"}}
)

// inputs are the ways to break the file that a program reads.
var inputs = []struct {
	name string
	label
}{
	{"missing", missing},
	{"directory", badInput},
	{"denied", denied},
	{"empty", badInput},
	{"garbage", badInput},
	{"cut", badInput},
}

// outputs are the ways to break the file that a program writes.
var outputs = []struct {
	name string
	label
}{
	{"full", full},
	{"nodir", missing},
	{"denied", denied},
	{"directory", badInput},
}

// speaks holds what the English text of a scenario must say. A program that fails for another reason, or
// that prints its help, teaches nothing.
var speaks = map[string]*regexp.Regexp{
	"full output":       regexp.MustCompile(`(?i)space|writ|full|ENOSPC|flush|close`),
	"denied output":     regexp.MustCompile(`(?i)permission|denied|EACCES|access|permitted|create|open|write`),
	"denied input":      regexp.MustCompile(`(?i)permission|denied|EACCES|access|permitted|open|read`),
	"little memory":     regexp.MustCompile(`(?i)memory|alloc|map segment`),
	"little files":      regexp.MustCompile(`(?i)open files|descriptor|EMFILE`),
	"an unknown option": regexp.MustCompile(`no-such-setting`),
}

// limits are resources that a program has too little of. The text before the command sets them.
var limits = []struct {
	name, prefix string
	label
}{
	{"memory", "ulimit -v 60000; ", label{class: "ResourceConstraint", retriable: true}},
	{"files", "ulimit -n 4; ", full},
}

// peers are the ways in which a server of another protocol can fail: the program connects to its port.
var peers = []struct {
	name string
	label
}{
	{"refused", network},
	{"closes", network},
	{"silent", network},
	{"garbage", label{class: "UnknownError", also: []string{"TemporaryServiceError", "NetworkTimeout", "ValidationError", "InvalidInput"}, retriable: true, ambiguous: true}},
	{"unknown", label{class: "NetworkTimeout", also: []string{"TemporaryServiceError", "InvalidInput", "NotFound"}, retriable: true, ambiguous: true}},
}

// An answer is an HTTP status with a body, as real services word it.
type answer struct {
	status int
	body   string
	label
}

// answers are what the HTTP server of the lab says, by path.
var answers = []answer{
	{400, `{"error":"invalid_request","message":"field 'size' must be a positive integer"}`, badInput},
	{401, `{"error":"invalid_token","error_description":"The access token expired"}`, login},
	{402, `{"message":"your plan has no credit left","code":"insufficient_credit"}`, label{class: "PaymentRequired", also: []string{"QuotaExceeded"}}},
	{403, `{"message":"you do not have access to this bucket"}`, denied},
	{404, "Not Found", missing},
	{405, "Method Not Allowed", label{class: "ValidationError", also: []string{"InvalidInput", "BusinessLogicError", "NotFound", "PermissionError"}}},
	{409, `{"message":"the object was changed by somebody else, or exists already"}`, label{class: "BusinessLogicError", also: []string{"ValidationError", "InvalidInput"}, ambiguous: true}},
	{410, "Gone", missing},
	{413, "Request Entity Too Large", label{class: "InputExceedsLimits", also: []string{"ValidationError", "InvalidInput"}}},
	{415, "Unsupported Media Type", badInput},
	{422, `{"errors":[{"field":"email","message":"is not an address"}]}`, label{class: "ValidationError", also: []string{"InvalidInput", "BusinessLogicError"}}},
	{429, `{"message":"too many requests, slow down"}`, label{class: "RateLimitExceeded", also: []string{"QuotaExceeded"}, retriable: true}},
	{500, "Internal Server Error", service},
	{502, "<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx</center></body></html>", service},
	{503, "<html><body><h1>503 Service Unavailable</h1>No server is available to handle this request.</body></html>", service},
	{504, "<html><head><title>504 Gateway Time-out</title></head></html>", service},
	{507, "Insufficient Storage", label{class: "ResourceConstraint", also: []string{"TemporaryServiceError", "QuotaExceeded"}, retriable: true, ambiguous: true}},
}

// languages are the languages of messages that are captured beside English.
var languages = []string{"de", "fr", "es", "it", "pt_BR", "nl", "pl", "ru", "uk", "tr", "sv", "cs", "ja", "ko", "zh_CN", "zh_TW"}

// names are the files that people have. A text keeps the name of its file, so that it reads as in life.
var names = []string{
	"upload_4711", "invoice-2026-03", "customer list", "scan0042", "report_final_v2", "IMG_20260311_142233", "backup", "data",
	"contract", "timeout_test", "limit", "order-503", "avatar", "track07", "patient_771", "export", "page-12", "main", "notes", "input",
}
