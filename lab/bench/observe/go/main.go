// SPDX-License-Identifier: MIT
// The same windows by the netlink module for Go: averaged per destination, and printed. The module
// dumps all states; those without a window of their own are left out here.
package main

import (
	"fmt"
	"log"
	"net/netip"

	"github.com/vishvananda/netlink"
)

const established = 1

type average struct {
	total, n uint64
}

func main() {
	observed := map[netip.Addr]*average{}
	for _, family := range []uint8{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		connections, err := netlink.SocketDiagTCPInfo(family)
		if err != nil {
			log.Fatal(err)
		}
		for _, connection := range connections {
			if connection.InetDiagMsg.State != established || connection.TCPInfo == nil {
				continue
			}
			peer, _ := netip.AddrFromSlice(connection.InetDiagMsg.ID.Destination)
			destination := observed[peer]
			if destination == nil {
				destination = &average{}
				observed[peer] = destination
			}
			destination.total += uint64(connection.TCPInfo.Snd_cwnd)
			destination.n++
		}
	}
	for peer, destination := range observed {
		fmt.Println(peer, float64(destination.total)/float64(destination.n))
	}
}
