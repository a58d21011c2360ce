package main

import (
	"strconv"
	"strings"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/score"
	"github.com/redrive/redrive/tests/judgement/texts"
)

// neutralThings are what texts speak of whether something is wrong with them or not. In labelled errors most stand where the
// input, the access or the account was wrong, so that their names alone would count as evidence.
const neutralThings = `key|token|list|file|document|page|batch|group|account|user|order|customer|row|table|column|sheet|field|form|value|policy|card|
payment|signature|license|role|password|access|session|content|limit|size|image|model|schema|type|name|format|argument|parameter|state|
certificate|object|bucket|path|address|message|queue|record|feed|region|task|project|plan|balance|item|import|export|tenant|report|login|
email|filter|language|entry|job|run|part|step|worker|server|network|connection|host|disk|memory|process|lock|index|shard|partition|topic|
channel|device|sensor|invoice|contract|ticket|patient|study|shipment|parcel|route|price|currency|tax|receipt|video|audio|track|frame|
stream|archive|backup|snapshot|volume|cluster|node|pod|container|deployment|release|branch|commit|build|package|module|plugin|template|
mail|address book|calendar|meeting|contact|folder|directory|link|url|header|body|response|request|query|statement|transaction|
cursor|column family|view|trigger|function|class|method|variable|constant|number|date|time zone|character|string|line|paragraph|chapter|
quota|rate|budget|credit|subscription|domain|zone|cache|proxy|gateway|endpoint|service|client|driver|interface|port|socket|permission|
credential|secret|scope|grant|rule|check|test|sample|result|score|label|tag|comment|note|attachment|upload|download|transfer|copy`

// neutralForms say that something ended badly, or only that it went on, and nothing about why. # is a number.
const neutralForms = `@ # of @ # failed|could not finish @ #|error in @ #|an error occurred while the @ was handled|@ # and @ # did not finish|
problem with the @ of @ #|processing of @ # failed at @ #|the @ worker crashed|unexpected result for @ #|failed to handle @ # of the @|
@ run # ended with an error|something happened to @ # of @ #|@ # done, @ # begins|started the @ # of @ #|the @ did not complete|
@ step failed|exception in @ # (@ #)|the @ of this @ could not be processed|abort at @ #|@ #: error|finished @ # in # seconds|# of # @ done|
task @ of @ # ended early|fatal: @ #|@ @ failed at # of #|unable to complete the @ for @ #|got as far as @ #, then it failed|
handled the @, the @ is next|no result for @ #|@ of @: failure`

// neutral returns texts that say nothing about a cause, each of neutralForms a family of its own.
func neutral() []sample {
	things := strings.Split(strings.ReplaceAll(neutralThings, "\n", ""), "|")
	var samples []sample
	n := 0
	for form := range strings.SplitSeq(strings.ReplaceAll(neutralForms, "\n", ""), "|") {
		for range neutralEach {
			var b strings.Builder
			for _, c := range form {
				switch c {
				case '@':
					b.WriteString(things[n*7919%len(things)])
				case '#':
					b.WriteString(strconv.Itoa(n*31%97 + 2))
				default:
					b.WriteRune(c)
					continue
				}
				n++
			}
			it := score.Item{Text: b.String(), Class: failure.UnknownError, Retriable: true}
			samples = append(samples, newSample("neutral:"+form, texts.Learn, it))
		}
	}
	return samples
}

const (
	neutralEach   = 20  // texts of each form
	neutralWeight = 0.4 // of such a text beside one that was captured or written by people
)
