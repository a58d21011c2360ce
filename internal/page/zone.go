package page

import (
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
)

// zoneCookie names the time zone in which the browser's person reads times. The script sets it;
// without it, pages show UTC.
const zoneCookie = "redrive_zone"

// zonesMax is how many time zones have templates of their own. Beyond it pages show UTC.
const zonesMax = 48

// zoneOf returns the time zone that the request names, UTC if it names none.
func zoneOf(r *http.Request) *time.Location {
	cookie, err := r.Cookie(zoneCookie)
	if err != nil {
		return time.UTC
	}
	name, err := url.QueryUnescape(cookie.Value)
	if err != nil || name == "" || name == "Local" || len(name) > 64 {
		return time.UTC
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return zone
}

// zoned is a view with its time zone: the frame of each page has it.
type zoned interface{ zone() *time.Location }

func (f *frame) zone() *time.Location { return f.Zone }

// ZoneName is the short name of the page's time zone now, such as UTC or CET.
func (f *frame) ZoneName() string { return zoneName(f.Zone, f.Now) }

func zoneName(zone *time.Location, at job.Micros) string {
	name, _ := at.Time().In(zone).Zone()
	if strings.Trim(name, "+-0123456789") == "" { // a zone without letters
		return "UTC" + name
	}
	return name
}

// Local reports whether the page shows another time zone than UTC.
func (f *frame) Local() bool { return f.Zone != time.UTC }

// Clock returns hours and minutes in the page's time zone.
func (f *frame) Clock(at job.Micros) string { return at.Time().In(f.Zone).Format("15:04") }

// templates returns the templates of the pages, by name, that write times in a time zone. They are
// made when the zone is asked for first.
func (p *Pages) templates(zone *time.Location) (map[string]*template.Template, error) {
	p.zones.Lock()
	defer p.zones.Unlock()
	if made := p.byZone[zone.String()]; made != nil {
		return made, nil
	}
	if len(p.byZone) >= zonesMax {
		return p.byZone[time.UTC.String()], nil
	}
	made, err := p.parse(zone)
	if err == nil {
		p.byZone[zone.String()] = made
	}
	return made, err
}

// parse reads the templates. Files whose names begin with parts, and the layout, belong to all pages.
func (p *Pages) parse(zone *time.Location) (map[string]*template.Template, error) {
	common, err := template.New("").Funcs(p.funcs(zone)).ParseFS(templateFiles, "templates/layout.html", "templates/parts*.html")
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	byName := make(map[string]*template.Template)
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "templates/"), ".html")
		if name == "layout" || strings.HasPrefix(name, "parts") {
			continue
		}
		t, err := common.Clone()
		if err == nil {
			t, err = t.ParseFS(templateFiles, file)
		}
		if err != nil {
			return nil, fmt.Errorf("page: template %s: %w", name, err)
		}
		byName[name] = t
	}
	return byName, nil
}
