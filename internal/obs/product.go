package obs

// Product is the product name of the interface itself: the first segment of its paths.
const Product = "service"
