// flanneld, pinned. Built by setup/flannel.sh.
module flannel-programs

go 1.26.0

tool github.com/flannel-io/flannel

require github.com/flannel-io/flannel v0.28.10 // indirect
