// Runs the steps of a client and prints a line for each: `ok NAME` or `FAIL NAME: why`.
const assert = require('assert');

let failed = false;

function fail(name, error) {
  failed = true;
  console.log(`FAIL ${name}: ${String((error && error.message) || error).replace(/\n/g, ' ')}`);
}

async function step(name, run, want) {
  try {
    const got = await run();
    if (want !== undefined) assert.deepStrictEqual(JSON.parse(JSON.stringify(got)), want);
    console.log(`ok ${name}`);
    return got;
  } catch (error) {
    fail(name, error); // the next steps may still say something
  }
}

async function refused(name, run, text) {
  try {
    await run();
  } catch (error) {
    if (String(error.message).includes(text)) console.log(`ok ${name}`);
    else fail(name, `the error is ${error.message}, want in it ${text}`);
    return;
  }
  fail(name, 'there was no error');
}

// main runs the steps and ends the process; nothing that a client left open keeps it.
function main(steps) {
  steps().then(() => process.exit(failed ? 1 : 0), (error) => { fail('the program', error); process.exit(1); });
}

module.exports = { step, refused, main };
