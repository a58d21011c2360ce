package main

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

func TestFit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		width, height int
		limit         int
		want          image.Point
	}{
		{"landscape", 1600, 1200, 256, image.Pt(256, 192)},
		{"portrait", 1200, 1600, 256, image.Pt(192, 256)},
		{"rounds to nearest", 1440, 1510, 256, image.Pt(244, 256)},
		{"small stays", 100, 80, 256, image.Pt(100, 80)},
		{"exact stays", 256, 10, 256, image.Pt(256, 10)},
		{"a line keeps one pixel", 10_000, 1, 256, image.Pt(256, 1)},
		{"one pixel", 640, 480, 1, image.Pt(1, 1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := fit(tt.width, tt.height, tt.limit); got != tt.want {
				t.Errorf("fit(%d, %d, %d) = %v, want %v", tt.width, tt.height, tt.limit, got, tt.want)
			}
		})
	}
}

func TestCheckPixelsAtTheBound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		width, height int
		ok            bool
	}{
		{50_000, 1_000, true},
		{50_001, 1_000, false},
		{1, 1, true},
		{0, 1, false},
		{1, 0, false},
		{1 << 31, 1 << 31, false}, // width times height overflows 62 bits
	}
	for _, tt := range tests {
		if err := checkPixels(tt.width, tt.height); (err == nil) != tt.ok {
			t.Errorf("checkPixels(%d, %d): got error %v, want success: %t", tt.width, tt.height, err, tt.ok)
		}
	}
}

// Every source pixel is counted exactly once, and every new pixel covers the same area.
func TestCoverageSharesOutEveryPixel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5_000).Draw(t, "n")
		m := rapid.IntRange(1, n).Draw(t, "m")
		given := make([]uint64, n)
		for i, s := range coverage(n, m) {
			var sum uint64
			for k, share := range s.shares {
				if share == 0 {
					t.Fatalf("span %d has a share of 0 of source pixel %d, want a share above 0", i, s.first+k)
				}
				given[s.first+k] += share
				sum += share
			}
			if sum != uint64(n) {
				t.Fatalf("the shares of span %d add up to %d, want %d", i, sum, n)
			}
		}
		for k, sum := range given {
			if sum != uint64(m) {
				t.Fatalf("the shares of source pixel %d add up to %d, want %d", k, sum, m)
			}
		}
	})
}

func TestShrinkAveragesTheAreaCovered(t *testing.T) {
	t.Parallel()
	// Three columns become two: each new pixel has two thirds of its outer column and one third of
	// the middle column.
	src := image.NewGray(image.Rect(10, 20, 13, 21)) // the picture does not begin at (0, 0); the result must be the same
	copy(src.Pix, []uint8{0, 90, 255})
	got := shrink(src, image.Pt(2, 1))
	want := []color.RGBA{{30, 30, 30, 255}, {200, 200, 200, 255}}
	for x, c := range want {
		if got.RGBAAt(x, 0) != c {
			t.Errorf("pixel %d is %v, want %v", x, got.RGBAAt(x, 0), c)
		}
	}
}

func TestShrinkTurnsFineStripesGrey(t *testing.T) {
	t.Parallel()
	// The source alternates between black and white pixels, so each new pixel must be grey. A
	// method that picks single pixels would return black or white.
	src := image.NewGray(image.Rect(0, 0, 64, 64))
	for i := range src.Pix {
		src.Pix[i] = uint8(255 * (i % 2))
	}
	got := shrink(src, image.Pt(8, 8))
	for i, v := range got.Pix {
		if i%4 != 3 && v != 128 {
			t.Fatalf("byte %d of the new pixel is %d, want 128", i, v)
		}
	}
}

func TestTransparentPixelsDoNotBleed(t *testing.T) {
	t.Parallel()
	src := image.NewNRGBA(image.Rect(0, 0, 2, 1))
	src.SetNRGBA(0, 0, color.NRGBA{R: 255, A: 255})
	src.SetNRGBA(1, 0, color.NRGBA{G: 255, A: 0}) // a green pixel that is fully transparent
	got := color.NRGBAModel.Convert(shrink(src, image.Pt(1, 1)).At(0, 0))
	if want := (color.NRGBA{R: 255, A: 128}); got != want {
		t.Errorf("got the pixel %v, want half-transparent red %v", got, want)
	}
}

func TestSmallGIFFrameKeepsItsPlaceOnTheCanvas(t *testing.T) {
	t.Parallel()
	red := color.RGBA{R: 255, A: 255}
	frame := image.NewPaletted(image.Rect(6, 2, 8, 4), color.Palette{red})
	var buf bytes.Buffer
	if err := gif.EncodeAll(&buf, &gif.GIF{
		Image: []*image.Paletted{frame}, Delay: []int{0},
		Config: image.Config{Width: 10, Height: 8},
	}); err != nil {
		t.Fatal(err)
	}
	img, format, err := decode(buf.Bytes())
	if err != nil || format != "gif" {
		t.Fatalf("decode of a GIF: got format %q, error %v; want gif", format, err)
	}
	if img.Bounds() != image.Rect(0, 0, 10, 8) {
		t.Errorf("got the bounds %v, want the bounds of the canvas", img.Bounds())
	}
	if img.At(6, 2) != red || img.At(5, 2) != (color.RGBA{}) {
		t.Errorf("got the pixels %v and %v, want a red and a transparent pixel", img.At(6, 2), img.At(5, 2))
	}
}

func TestThumbnailPath(t *testing.T) {
	t.Parallel()
	tests := []struct{ image, ext, want string }{
		{"images/harbour.jpg", ".jpg", "out/images/harbour-256.jpg"},
		{"dial.gif", ".png", "out/dial.gif-256.png"},
		{"dial.png", ".png", "out/dial-256.png"},
		{"photo.jpeg", ".jpg", "out/photo.jpeg-256.jpg"},
	}
	for _, tt := range tests {
		got := filepath.ToSlash(thumbnailPath("out", payload{tt.image, 256}, tt.ext))
		if got != tt.want {
			t.Errorf("%s: got the output path %s, want %s", tt.image, got, tt.want)
		}
	}
}

// decode returns an error or a picture within the bounds for any bytes. It never panics.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("GIF89a"))
	f.Add(pngHeader(1, 1))
	f.Add([]byte("\xff\xd8\xff\xe0"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if config, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && config.Width*config.Height > 1<<20 {
			t.Skip("valid, but slow to fuzz")
		}
		img, _, err := decode(data)
		if err != nil {
			return
		}
		if b := img.Bounds(); checkPixels(b.Dx(), b.Dy()) != nil {
			t.Errorf("got a picture with the bounds %v, want at most pixelsMax pixels", b)
		}
	})
}
