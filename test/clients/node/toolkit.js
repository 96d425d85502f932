// druid-query-toolkit, unmodified: what the reference's console runs queries with.
const { QueryRunner, QueryResult, SqlQuery, SqlExpression } = require('druid-query-toolkit');
const { step, refused, main } = require('./report');

const url = process.argv[2];
const runner = new QueryRunner({
  executor: async ({ payload, isSql, signal }) => {
    const response = await fetch(url + (isSql ? '/druid/v2/sql' : '/druid/v2'), {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(payload), signal,
    });
    const text = await response.text();
    if (!response.ok) {
      const error = new Error(text);
      error.response = { status: response.status, data: JSON.parse(text) };
      throw error;
    }
    const headers = {};
    response.headers.forEach((value, name) => { headers[name] = value; });
    return { data: JSON.parse(text), headers };
  },
});
const post = async (payload) => {
  const response = await fetch(url + '/druid/v2/sql', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(payload) });
  return { status: response.status, body: await response.json() };
};

main(async () => {
  const run = (query, extra) => runner.runQuery({ query, ...extra });
  await step('rows', async () => (await run('SELECT channel, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1')).rows, [['#de', 16], ['#en', 16], ['#fr', 16]]);
  await step('header', async () => (await run('SELECT __time, channel, added, delta, tags FROM visits LIMIT 1')).header.map((c) => [c.name, c.sqlType, c.nativeType]),
    [['__time', 'TIMESTAMP', 'LONG'], ['channel', 'VARCHAR', 'STRING'], ['added', 'BIGINT', 'LONG'], ['delta', 'DOUBLE', 'DOUBLE'], ['tags', 'VARCHAR', 'STRING']]);
  await step('ids', async () => {
    const result = await run('SELECT 1', { extraQueryContext: { sqlQueryId: 'toolkit-1' } });
    return [result.sqlQueryId, result.queryId];
  }, ['toolkit-1', 'toolkit-1']);
  await step('columns and objects', async () => (await run('SELECT 1 AS x, \'a\' AS y')).toObjectArray(), [{ x: 1, y: 'a' }]);
  await step('parameters', async () => (await run('SELECT COUNT(*) FROM visits WHERE channel = ?', { queryParameters: [{ type: 'VARCHAR', value: '#en' }] })).rows, [[16]]);
  await step('no rows', async () => (await run('SELECT channel FROM visits WHERE added < 0')).getHeaderNames(), ['channel']);
  const built = SqlQuery.create('visits').changeSelectExpressions([SqlExpression.parse('channel'), SqlExpression.parse('SUM(added) AS a')]).changeGroupByExpressions([SqlExpression.parse('channel')])
    .changeWhereExpression(SqlExpression.parse('page <> \'page 1\'')).changeOrderByExpressions([]).changeLimitValue(10);
  await step('a built query', async () => (await run(built)).rows.length, 3);
  await step('a limited query', async () => (await run('SELECT * FROM visits', { extraQueryContext: { sqlOuterLimit: 5 } })).getNumResults(), 5);
  await step('native', async () => QueryResult.fromRawResult((await (await fetch(url + '/druid/v2', {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({
      queryType: 'scan', dataSource: 'visits', intervals: ['2024/2025'], columns: ['channel'], limit: 2, resultFormat: 'compactedList' }) })).json())).rows.length, 2);
  await step('native groups', async () => (await run({ queryType: 'groupBy', dataSource: 'visits', intervals: ['2024/2025'], granularity: 'all', dimensions: ['channel'],
    aggregations: [{ type: 'count', name: 'n' }], context: { resultAsArray: true } })).rows, [['#de', 16], ['#en', 16], ['#fr', 16]]);
  // Its console reads the members of errors: class, category and place.
  for (const [name, query, category, place] of [
    ['an unknown column', 'SELECT nope FROM visits', 'INVALID_INPUT', [1, 8]], ['an unknown table', 'SELECT 1 FROM nothing', 'INVALID_INPUT', [1, 15]],
    ['a word too much', 'SELECT 1 FROM visits WHERE', 'INVALID_INPUT', undefined], ['no query', 'SELECT FROM', 'INVALID_INPUT', undefined],
  ]) {
    await step('error: ' + name, async () => {
      const { status, body } = await post({ query, header: true, typesHeader: true, sqlTypesHeader: true, resultFormat: 'array' });
      const at = [Number(body.context.line), Number(body.context.column)];
      return [status, body.error, body.category, body.persona, place ? at : 'anywhere'];
    }, [400, 'druidException', category, 'USER', place || 'anywhere']);
  }
  await refused('error through the runner', () => run('SELECT nope FROM visits'), 'nope');
});
