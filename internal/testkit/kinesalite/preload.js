import net from "node:net";

// The server has no option for the address to listen at.
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ready) {
  return listen.call(this, port, "127.0.0.1", ready);
};

// The server ends when a client goes away in the middle of a request, which Node reports since its
// version 16. Only that error is passed over.
process.on("uncaughtException", (error) => {
  if (error.code !== "ECONNRESET") {
    throw error;
  }
});
