package main

import (
	"image"
	"os"
	"testing"
)

// checkThumbnail compares the file that the result names with its source: the values in the result
// are correct, and the thumbnail has the aspect ratio and the average colour of the source.
func checkThumbnail(t *testing.T, source string, res result, size int) {
	t.Helper()
	src, dst := decodeFile(t, source), decodeFile(t, res.Thumbnail)
	info, err := os.Stat(res.Thumbnail)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() != int64(res.Bytes) || dst.Bounds().Size() != image.Pt(res.Width, res.Height) {
		t.Errorf("got the result %+v, want the size of the file: %d bytes and %v pixels", res, info.Size(), dst.Bounds().Size())
	}
	s, d := src.Bounds().Size(), dst.Bounds().Size()
	if max(d.X, d.Y) != min(size, max(s.X, s.Y)) {
		t.Errorf("thumbnail of %v pixels, want %d pixels for the longer side", d, size)
	}
	// Rounding may change the shorter side by half a pixel. Here this is compared as a difference
	// of areas.
	if off := d.X*s.Y - d.Y*s.X; max(off, -off) > max(s.X, s.Y)/2+1 {
		t.Errorf("thumbnail of %v pixels from a source of %v pixels, want the same aspect ratio", d, s)
	}
	want, got := averageColour(src), averageColour(dst)
	for i := range want {
		if diff := want[i] - got[i]; max(diff, -diff) > 1.5 {
			t.Errorf("average colour of the thumbnail is %.1f, want %.1f with a difference of at most 1.5 of 255", got, want)
			break
		}
	}
}

func decodeFile(t *testing.T, name string) image.Image {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, _, err := image.Decode(f)
	if err != nil {
		t.Fatalf("decode the picture %s: %v", name, err)
	}
	return img
}

// averageColour returns the mean of premultiplied red, green and blue, and of alpha, each from 0 to
// 255. It uses no code of the program under test.
func averageColour(img image.Image) [4]float64 {
	var sum [4]float64
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, bl, a := img.At(x, y).RGBA()
			for i, v := range [4]uint32{r, g, bl, a} {
				sum[i] += float64(v) / 257
			}
		}
	}
	for i := range sum {
		sum[i] /= float64(b.Dx() * b.Dy())
	}
	return sum
}
