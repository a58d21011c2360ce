//go:build !unix

package proc

import "os/exec"

// ReportFD is the number of the file descriptor to which a program writes reports; 0 means that
// programs of this system have none.
const ReportFD = 0

// reports does nothing on this system.
type reports struct{}

func (s Spec) openReports(*exec.Cmd) (*reports, error) { return nil, nil }
func (*reports) started()                              {}
func (*reports) close()                                {}
