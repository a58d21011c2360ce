package server_test

import (
	"maps"
	"net/url"
	"regexp"
	"strings"
)

// press sends the form of the button with a label on a page, with the fields that a person has typed.
// It returns the page at which the form ends. The test fails if the page has no such button.
func (r *reader) press(page, path, label string, typed url.Values) string {
	r.t.Helper()
	action, fields := buttonOf(page, path, label)
	if action == "" {
		r.t.Fatalf("the page %s has no button %q:\n%s", path, label, textOf(page))
	}
	maps.Copy(fields, typed)
	_, text := r.send("POST", action, fields)
	return text
}

var (
	formTag   = regexp.MustCompile(`(?s)<form([^>]*)>(.*?)</form>`)
	inputTag  = regexp.MustCompile(`<input([^>]*)>`)
	attribute = regexp.MustCompile(`([a-z-]+)="([^"]*)"`)
	buttonTag = regexp.MustCompile(`(?s)<button([^>]*)>(.*?)</button>`)
	anyTag    = regexp.MustCompile(`(?s)<[^>]*>`)
	hiddenTag = regexp.MustCompile(`(?s)<span class="vh">.*?</span>`)
)

func attributesOf(tag string) map[string]string {
	all := make(map[string]string)
	for _, m := range attribute.FindAllStringSubmatch(tag, -1) {
		all[m[1]] = strings.NewReplacer("&amp;", "&", "&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">", "&#43;", "+").Replace(m[2])
	}
	return all
}

func textOf(page string) string {
	return strings.Join(strings.Fields(anyTag.ReplaceAllString(page, " ")), " ")
}

// buttonOf returns the address and the fields of the form below a path whose enabled button has a label.
func buttonOf(page, path, label string) (string, url.Values) {
	for _, f := range formTag.FindAllStringSubmatch(page, -1) {
		form := attributesOf(f[1])
		if form["method"] != "post" {
			continue
		}
		for _, b := range buttonTag.FindAllStringSubmatch(f[2], -1) {
			button := attributesOf(b[1])
			if strings.TrimSpace(anyTag.ReplaceAllString(hiddenTag.ReplaceAllString(b[2], ""), "")) != label || button["aria-disabled"] != "" {
				continue
			}
			fields := url.Values{}
			for _, i := range inputTag.FindAllStringSubmatch(f[2], -1) {
				if input := attributesOf(i[1]); input["name"] != "" && input["type"] != "checkbox" {
					fields.Add(input["name"], input["value"])
				}
			}
			if button["name"] != "" {
				fields.Set(button["name"], button["value"])
			}
			action := form["action"]
			if button["formaction"] != "" {
				action, _, _ = strings.Cut(button["formaction"], "#")
			}
			if strings.HasPrefix(action, path) {
				return action, fields
			}
		}
	}
	return "", nil
}
