package obs

// Product is the product name in the API: the first component of its paths.
const Product = "service"
