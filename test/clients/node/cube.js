// Cube's driver, unmodified: @cubejs-backend/druid-driver.
process.env.CUBEJS_DATASOURCES = '';
const { DruidDriver } = require('@cubejs-backend/druid-driver');
const { step, refused, main } = require('./report');

main(async () => {
  const driver = new DruidDriver({ url: process.argv[2], dataSource: 'default' });
  await step('connection', () => driver.testConnection());
  await step('rows', () => driver.query('SELECT channel, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1', []),
    [{ channel: '#de', n: 16 }, { channel: '#en', n: 16 }, { channel: '#fr', n: 16 }]);
  await step('values', () => driver.query('SELECT COUNT(*) AS n FROM visits WHERE channel = ? AND __time >= TIME_PARSE(?)', ['#en', '2024-01-02T00:00:00.000Z']), [{ n: 8 }]);
  await step('tables', () => driver.getTablesQuery('druid'), [{ TABLE_NAME: 'visits' }]);
  await step('schema', () => driver.tablesSchema().then((s) => Object.fromEntries(Object.entries(s.druid.visits.map((c) => [c.name, c.type])).map(([, v]) => v))), {
    __time: 'TIMESTAMP', added: 'BIGINT', channel: 'VARCHAR', delta: 'DOUBLE', page: 'VARCHAR', tags: 'VARCHAR',
  });
  await step('types of a result', () => driver.downloadQueryResults('SELECT __time AS t, channel AS c, added AS a, delta AS d FROM visits ORDER BY added LIMIT 1', [], {}), {
    rows: [{ t: '2024-01-01T00:00:00.000Z', c: '#en', a: 0, d: 0 }],
    types: [{ name: 't', type: 'timestamp' }, { name: 'c', type: 'text' }, { name: 'a', type: 'bigint' }, { name: 'd', type: 'double' }],
  });
  // What the dialect makes of a time dimension, a measure and a time zone.
  await step('a time dimension', () => driver.query('SELECT TIME_FLOOR(CAST(__time AS TIMESTAMP), \'P1D\', NULL, \'UTC\') "day", sum("visits".added) "added" FROM visits AS "visits" ' +
    'WHERE ("visits".__time >= TIME_PARSE(?) AND "visits".__time <= TIME_PARSE(?)) GROUP BY 1 ORDER BY 1 ASC LIMIT 10000', ['2024-01-01T00:00:00.000Z', '2024-01-02T23:59:59.999Z']),
  [{ day: '2024-01-01T00:00:00.000Z', added: 276 }, { day: '2024-01-02T00:00:00.000Z', added: 852 }]);
  await refused('error', () => driver.query('SELECT nope FROM visits', []), 'nope');
  await refused('read only', () => driver.createSchemaIfNotExists('x'), 'does not support');
});
