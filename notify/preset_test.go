package notify_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/redrive/redrive/notify"
)

// Each preset is a valid rule; campaign_ready goes out for all three ends with their state.
//
// part of: N2, N3
func TestN3_PresetsAreRules(t *testing.T) {
	t.Parallel()
	var rules []notify.Rule
	for _, name := range notify.Presets() {
		channel, to := "mail", "attr.owner_email"
		if name == notify.PresetCampaignReady {
			channel, to = "hook", "shop"
		}
		rule, err := notify.Preset(name, channel, to)
		if err != nil {
			t.Fatal(err)
		}
		for _, on := range []notify.Event{notify.BatchReady, notify.BatchPartial, notify.BatchFailed} {
			if !slices.Contains(rule.On, on) {
				t.Errorf("preset %s: is not about %s", name, on)
			}
		}
		if name == notify.PresetCampaignReady && (rule.Type != "campaign_ready" || rule.Data["state"] != "batch.state") {
			t.Errorf("preset %s: got type %q and data %v, want campaign_ready with the state", name, rule.Type, rule.Data)
		}
		rules = append(rules, rule)
	}
	all := notify.Rules{Rules: rules, Channels: map[string]notify.Channel{"mail": {Type: notify.Mail}, "hook": {Type: notify.Webhook}}}
	if err := all.Validate(); err != nil {
		t.Error(err)
	}
	if _, err := notify.Preset("watermarks", "mail", "a@example.com"); err == nil || !strings.Contains(err.Error(), "one of watermark, campaign_ready") {
		t.Errorf("unknown preset: got %v, want the known ones", err)
	}
}
