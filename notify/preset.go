package notify

import (
	"fmt"

	"github.com/redrive/redrive/internal/suggest"
)

// Names of presets: rules that are often wanted.
const (
	// PresetWatermark is mail to the owner of a batch: one for each member that died, and one for each
	// end.
	PresetWatermark = "watermark"
	// PresetCampaignReady is a webhook for each end of a batch, with the state in its data.
	PresetCampaignReady = "campaign_ready"
)

// Presets returns the names of the presets.
func Presets() []string { return []string{PresetWatermark, PresetCampaignReady} }

// Preset returns a rule for the given channel and recipients: its events, and for a webhook its type
// and its data. The error says that there is no preset with this name.
func Preset(name, channel string, to ...string) (Rule, error) {
	ends := []Event{BatchReady, BatchPartial, BatchFailed}
	switch name {
	case PresetWatermark:
		return Rule{On: append(ends, MemberDead), Channel: channel, To: to}, nil
	case PresetCampaignReady:
		return Rule{On: ends, Channel: channel, To: to, Type: PresetCampaignReady, Data: map[string]string{
			"campaign_id": "batch.key", "name": "batch.name", "state": "batch.state",
			"total": "batch.total", "completed": "batch.completed", "failed": "batch.dead",
		}}, nil
	}
	return Rule{}, fmt.Errorf("the preset %.60q is not known; use one of %s", name, suggest.List(Presets()))
}
