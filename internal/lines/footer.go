package lines

import "strings"

// footers are what programs write after an error, or around it, whatever the error was. A line
// is a footer if it begins with the one text and has the other.
var footers = [...]struct{ program, begins, has string }{
	{"Node", "Node.js v", ""},
	{"Node", "thrown at:", ""},
	{"Node", "(Use `node --", ""},
	{"Node", "----- ", "stack trace"},
	{"Node", "<--- ", ""},
	{"npm", "npm ERR!", ""},
	{"npm", "npm error", ""},
	{"npm", "npm notice", ""},
	{"yarn", "info Visit ", ""},
	{"yarn", "error Command failed with", ""},
	{"pnpm", "ELIFECYCLE", "Command failed"},
	{"Java", "... ", " more"},
	{"Java", "Suppressed: ", ""},
	{"Java", "Picked up ", "_OPTIONS"},
	{"Maven", "[ERROR] -> [Help", ""},
	{"Maven", "[ERROR] [Help", ""},
	{"Maven", "[ERROR] Re-run Maven", ""},
	{"Maven", "[ERROR] To see the full stack trace", ""},
	{"Maven", "[ERROR] For more information", ""},
	{"Gradle", "* Try:", ""},
	{"Gradle", "> Run with --", ""},
	{"Gradle", "BUILD FAILED", ""},
	{"Python", "During handling of the above exception", ""},
	{"Python", "The above exception was the direct cause", ""},
	{"Python", "Exception ignored in", ""},
	{"Python", "[Previous line repeated", ""},
	{"pip", "[notice]", ""},
	{"pip", "hint: See above", ""},
	{"pytest", "!!!", "Interrupted"},
	{"Go", "exit status ", ""},
	{"Go", "goroutine ", "["},
	{"Go", "created by ", ""},
	{"Go", "[recovered]", ""},
	{"Go", "FAIL\t", ""},
	{"PHP", "Stack trace:", ""},
	{"PHP", "PHP Stack trace:", ""},
	{"PHP", "thrown in ", " on line "},
	{"Composer", "Script ", "returned with error code"},
	{"Ruby", "rake aborted!", ""},
	{"Ruby", "(See full trace by running", ""},
	{"Ruby", "Tasks: TOP", ""},
	{"Rust", "stack backtrace:", ""},
	{"Rust", "error: aborting due to", ""},
	{"Rust", "error: could not compile", ""},
	{"Rust", "error: process didn't exit successfully", ""},
	{"Rust", "For more information about this error", ""},
	{"Rust", "Some errors have detailed explanations", ""},
	{"Rust", "Location:", ""},
	{".NET", "--- End of ", "stack trace"},
	{".NET", "Aborted (core dumped)", ""},
	{"C++", "Aborted", "core dumped"},
	{"make", "make: *** ", "] Error "},
	{"make", "make[", "] Error "},
	{"make", "make[", "Leaving directory"},
	{"make", "gmake: *** ", "] Error "},
	{"ninja", "ninja: build stopped", ""},
	{"CMake", "-- Configuring incomplete", ""},
	{"CMake", "See also \"", ""},
	{"gcc", "compilation terminated", ""},
	{"gcc", "collect2: error: ld returned", ""},
	{"FFmpeg", "Conversion failed!", ""},
	{"FFmpeg", "Exiting normally, received signal", ""},
	{"FFmpeg", "Last message repeated", ""},
	{"FFmpeg", "Terminating thread with return code", ""},
	{"FFmpeg", "Task finished with error code", ""},
	{"FFmpeg", "Error opening output files", ""},
	{"FFmpeg", "Nothing was written into output file", ""},
	{"FFmpeg", "video:", "muxing overhead"},
	{"curl", "More details here: ", ""},
	{"curl", "curl failed to verify the legitimacy", ""},
	{"tar", "tar: Exiting with failure status", ""},
	{"tar", "tar: Error is not recoverable", ""},
	{"Docker", "See 'docker ", ""},
	{"apt", "E: Sub-process ", "returned an error code"},
	{"git", "Please make sure you have the correct access rights", ""},
	{"git", "and the repository exists", ""},
	{"Kubernetes", "See 'kubectl ", ""},
	{"usage", "Try '", "--help"},
	{"usage", "Try `", "--help"},
	{"usage", "usage:", ""},
	{"usage", "Usage:", ""},
	{"usage", "Run '", "--help"},
	{"log", "A complete log of this run", ""},
}

// footerBytes are the first bytes of all footers.
var footerBytes = func() (set [256]bool) {
	for i := range footers {
		set[footers[i].begins[0]] = true
	}
	return set
}()

func isFooter(text string) bool {
	if !footerBytes[text[0]] {
		return false
	}
	if text == "FAIL" { // of the tests of Go
		return true
	}
	for i := range footers {
		if f := &footers[i]; strings.HasPrefix(text, f.begins) && (f.has == "" || strings.Contains(text[len(f.begins):], f.has)) {
			return true
		}
	}
	return false
}
