# SPDX-License-Identifier: MIT
"""The content delivery network of the Riptide paper, as far as published: 34 points of presence
by continent (Table II), and the known properties of its files and round trip times (Sec. II). No
I/O.

The paper names no cities; these are typical: large ones with internet exchanges. Round
trip times follow from distances; the factor by which the way exceeds the great circle is
set so that the median pair has the printed 125 ms.
"""

import itertools
import math
import statistics
from typing import NamedTuple

MEDIAN_RTT_MS = 125
LIGHT_KM_PER_MS = 200  # in fibre
LAST_MILES_MS = 2  # independent of distance


class Pop(NamedTuple):
    name: str
    continent: str
    latitude: float
    longitude: float


POPS = tuple(Pop(name, continent, latitude, longitude) for continent, cities in {
    "Europe": (("london", 51.5, -0.1), ("amsterdam", 52.4, 4.9), ("frankfurt", 50.1, 8.7),
               ("paris", 48.9, 2.4), ("madrid", 40.4, -3.7), ("milan", 45.5, 9.2),
               ("stockholm", 59.3, 18.1), ("copenhagen", 55.7, 12.6), ("vienna", 48.2, 16.4),
               ("warsaw", 52.2, 21.0)),
    "North America": (("newyork", 40.7, -74.0), ("ashburn", 39.0, -77.5), ("atlanta", 33.7, -84.4),
                      ("miami", 25.8, -80.2), ("chicago", 41.9, -87.6), ("dallas", 32.8, -96.8),
                      ("denver", 39.7, -105.0), ("losangeles", 34.1, -118.2),
                      ("sanjose", 37.3, -121.9), ("seattle", 47.6, -122.3),
                      ("toronto", 43.7, -79.4)),
    "South America": (("saopaulo", -23.5, -46.6),),
    "Asia": (("tokyo", 35.7, 139.7), ("osaka", 34.7, 135.5), ("seoul", 37.6, 127.0),
             ("hongkong", 22.3, 114.2), ("taipei", 25.0, 121.6), ("singapore", 1.4, 103.8),
             ("jakarta", -6.2, 106.8), ("mumbai", 19.1, 72.9), ("manila", 14.6, 121.0)),
    "Oceania": (("sydney", -33.9, 151.2), ("melbourne", -37.8, 145.0), ("auckland", -36.8, 174.8)),
}.items() for name, latitude, longitude in cities)


def distance_km(a, b):
    """The distance along the great circle."""
    latitude_a, latitude_b = math.radians(a.latitude), math.radians(b.latitude)
    across = math.radians(b.longitude - a.longitude)
    chord = (math.sin((latitude_b - latitude_a) / 2) ** 2
             + math.cos(latitude_a) * math.cos(latitude_b) * math.sin(across / 2) ** 2)
    return 2 * 6371 * math.asin(math.sqrt(chord))


_MEDIAN_KM = statistics.median(distance_km(a, b) for a, b in itertools.combinations(POPS, 2))
STRETCH = (MEDIAN_RTT_MS - LAST_MILES_MS) * LIGHT_KM_PER_MS / (2 * _MEDIAN_KM)


def rtt_ms(a, b):
    return LAST_MILES_MS + 2 * STRETCH * distance_km(a, b) / LIGHT_KM_PER_MS


# Files (Fig. 2 and 3): 54 % are too large for a first flight of 10 segments, 31 % more fit into
# one of 50 than of 10, and all but 15 % into one of 100; segments of 1,500 bytes. Between and
# beyond these points sizes are assumed log-normal: straight lines over the logarithm.
SEGMENT_BYTES = 1500
SIZE_POINTS = ((10 * SEGMENT_BYTES, 0.46), (50 * SEGMENT_BYTES, 0.77),
               (100 * SEGMENT_BYTES, 0.85))


def size_bytes(share):
    """The size that this share of the files does not exceed; 0 < share < 1."""
    normal = statistics.NormalDist()
    points = [(normal.inv_cdf(at), math.log(size)) for size, at in SIZE_POINTS]
    z = normal.inv_cdf(share)
    (z0, y0), (z1, y1) = points[:2] if z < points[1][0] else points[1:]
    return max(1, round(math.exp(y0 + (y1 - y0) * (z - z0) / (z1 - z0))))
