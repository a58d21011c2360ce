package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// thumbnailPath returns the path of the output, made of the input's name and the size:
// images/harbour.jpg at 256 becomes <out>/images/harbour-256.jpg. If the input has another
// extension than the output, it stays in the name, so that dial.gif and dial.png do not write to
// one file.
func thumbnailPath(out string, p payload, ext string) string {
	stem := strings.TrimSuffix(filepath.FromSlash(p.Image), ext)
	return filepath.Join(out, stem+"-"+strconv.Itoa(p.Size)+ext)
}

// writeFile writes the whole file or nothing: a program that is killed must not leave a part of a
// thumbnail under the final name. The temporary file is in the same folder, because a rename to
// another file system fails.
func writeFile(name string, data []byte) (err error) {
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return exitf(shortage(err, exitCantWrite), "%w", err)
	}
	tmp, err := os.CreateTemp(dir, ".thumb-*")
	if err != nil {
		return exitf(shortage(err, exitCantWrite), "%w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name()) // an error of Remove is ignored, because the earlier error says more
		}
	}()
	if err := fill(tmp, data); err != nil {
		return exitf(shortage(err, exitIO), "%w", err)
	}
	if err := os.Rename(tmp.Name(), name); err != nil {
		return exitf(shortage(err, exitIO), "%w", err)
	}
	return nil
}

// fill writes data to f, makes it readable for others and durable, and closes f.
func fill(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
