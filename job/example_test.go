package job_test

import (
	"fmt"

	"github.com/redrive/redrive/job"
)

func ExampleLegal() {
	fmt.Println(job.Legal(job.Running, job.Retrying, job.Failed))
	fmt.Println(job.Legal(job.Completed, job.Running, job.Claimed))
	// Output:
	// true
	// false
}
