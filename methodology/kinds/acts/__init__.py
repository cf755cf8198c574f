"""Acts as a kind of load: pods that are made and removed while test frames are offered to them."""
