"""In place of the library that phoenixdb loads for Kerberos, which has to be compiled. No test logs in so."""
