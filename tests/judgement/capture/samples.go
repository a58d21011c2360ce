package main

import (
	"context"
	"log"
	"os"
	"os/exec"
	"path/filepath"
)

// makeSamples makes a small good file of each kind by the programs that are there.
func (l *lab) makeSamples() {
	make := func(ext, command string) {
		path := filepath.Join(l.dir, "sample."+ext)
		cmd := exec.CommandContext(context.Background(), "sh", "-c", command)
		cmd.Dir = l.dir
		cmd.Env = append(os.Environ(), "F="+path)
		if err := cmd.Run(); err != nil {
			log.Printf("no sample of .%s: %v", ext, err)
			return
		}
		l.samples[ext] = path
	}
	make("txt", `seq 1 3000 > $F`)
	make("gz", `seq 1 20000 | gzip > $F`)
	make("bz2", `seq 1 20000 | bzip2 > $F`)
	make("xz", `seq 1 20000 | xz > $F`)
	make("zst", `seq 1 20000 | zstd -q > $F`)
	make("lz4", `seq 1 20000 | lz4 -q > $F`)
	make("tar", `seq 1 5000 > a; tar cf $F a`)
	make("tgz", `seq 1 5000 > a; tar czf $F a`)
	make("zip", `seq 1 5000 > a; zip -q $F a`)
	make("json", `echo '{"a":[1,2,3],"b":{"c":"text","d":null}}' > $F`)
	make("yaml", `printf 'a:\n  - 1\n  - b: {c: d}\n' > $F`)
	make("xml", `echo '<a><b c="1">text</b><b/></a>' > $F`)
	make("c", `echo 'int main(void){return 0;}' > $F`)
	make("py", `echo 'print(1)' > $F`)
	make("js", `echo 'console.log(1)' > $F`)
	make("rb", `echo 'puts 1' > $F`)
	make("php", `echo '<?php echo 1;' > $F`)
	make("pl", `echo 'print 1;' > $F`)
	make("sh", `echo 'echo 1' > $F`)
	make("tcl", `echo 'puts 1' > $F`)
	make("java", `echo 'class A { public static void main(String[] a) {} }' > $F`)
	make("sql", `echo 'select 1;' > $F`)
	make("db", `sqlite3 $F 'create table t(a); with recursive n(i) as (values(1) union all select i+1 from n where i<3000) insert into t select i from n'`)
	make("ppm", `ppmmake rgb:ff/00/00 60 60 > $F`)
	make("png", `ppmmake rgb:ff/00/00 60 60 | ppmdim 0.5 | pnmtopng > $F`)
	make("jpg", `ppmmake rgb:ff/00/00 60 60 | pnmtojpeg > $F`)
	make("gif", `ppmmake rgb:ff/00/00 60 60 | ppmtogif > $F`)
	make("tif", `ppmmake rgb:ff/00/00 60 60 | pnmtotiff > $F`)
	make("bmp", `ppmmake rgb:ff/00/00 60 60 | ppmtobmp > $F`)
	make("mp4", `ffmpeg -v error -y -f lavfi -i testsrc=d=1:s=64x64 -f lavfi -i sine=d=1 $F`)
	make("wav", `ffmpeg -v error -y -f lavfi -i sine=d=1 $F`)
	make("mp3", `ffmpeg -v error -y -f lavfi -i sine=d=1 $F`)
	make("mkv", `ffmpeg -v error -y -f lavfi -i testsrc=d=1:s=64x64 $F`)
	make("ps", `printf '%%!PS\n/Helvetica findfont 12 scalefont setfont 72 72 moveto (x) show showpage\n' > $F`)
	make("pdf", `gs -q -o $F -sDEVICE=pdfwrite sample.ps`)
	make("pem", `openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out $F -days 9 -subj /CN=shop.example`)
	make("key", `openssl genrsa -out $F 2048`)
	make("o", `gcc -c -o $F sample.c`)
	make("deb", `mkdir -p p/DEBIAN && printf 'Package: a\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b.example>\nDescription: a\n' > p/DEBIAN/control && dpkg-deb -b p $F`)
	make("po", `printf 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "a"\nmsgstr "b"\n' > $F`)
	make("rdb", `printf 'REDIS0011\377' > $F; head -c 8 /dev/zero >> $F`)
	make("git", `git init -q --bare $F`)
	make("crontab", `echo '0 3 * * * true' > $F`)
	make("dot", `echo 'digraph { a -> b }' > $F`)
	make("csv", `printf 'a,b\n1,2\n' > $F`)
	make("ini", `printf '[a]\nb = c\n' > $F`)
	make("bin", `head -c 5000 /dev/urandom > $F`)
	make("dump", `printf 'PGDMP' > $F; head -c 900 /dev/urandom >> $F`)
}
