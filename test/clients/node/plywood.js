// plywood with its requester, unmodified: what Turnilo and Pivot send.
const { ply, $, r, External } = require('plywood');
const { druidRequesterFactory } = require('plywood-druid-requester');
const { step, main } = require('./report');

const host = process.argv[2].replace('http://', '');
const requester = druidRequesterFactory({ host, timeout: 30000 });

main(async () => {
  await step('version', () => External.getConnectorVersion ? External.getConnectorVersion('druid', requester) : require('plywood').DruidExternal.getVersion(requester), '33.0.0');
  await step('sources', () => require('plywood').DruidExternal.getSourceList(requester), ['visits']);
  const external = await step('introspection', () => External.fromJS({
    engine: 'druid', source: 'visits', timeAttribute: '__time', allowSelectQueries: true, context: { timeout: 30000 },
  }, requester).introspect());
  const context = { visits: external };
  const values = async (ex) => (await ex.compute(context)).toJS();
  const data = async (ex) => (await values(ex)).data;
  await step('attributes', async () => external.attributes.map((a) => [a.name, a.type]), [
    ['__time', 'TIME'], ['channel', 'STRING'], ['page', 'STRING'], ['added', 'NUMBER'], ['delta', 'NUMBER'], ['tags', 'SET/STRING'],
  ]);
  const within = $('visits').filter($('__time').overlap({ start: new Date('2024-01-01T00:00:00Z'), end: new Date('2024-01-03T00:00:00Z') }));
  await step('totals', () => data(ply().apply('visits', within).apply('Count', $('visits').count()).apply('Added', '$visits.sum($added)').select('Count', 'Added')),
    [{ Added: 1128, Count: 48 }]);
  await step('a split by a dimension', () => data(within.split('$channel', 'Channel').apply('Added', '$visits.sum($added)').sort('$Added', 'descending').limit(2)),
    [{ Added: 392, Channel: '#fr' }, { Added: 376, Channel: '#de' }]);
  await step('a split by time', async () => (await data(within.split($('__time').timeBucket('P1D', 'Etc/UTC'), 'Time').apply('Count', '$visits.count()').sort('$Time', 'ascending')))
    .map((d) => d.Count), [24, 24]);
  await step('a nested split', async () => (await data(within.split('$channel', 'Channel').apply('Count', '$visits.count()').sort('$Channel', 'ascending').limit(1)
    .apply('Pages', $('visits').split('$page', 'Page').apply('Count', '$visits.count()').sort('$Count', 'descending').limit(1)))).map((d) => d.Pages.data.length), [1]);
  await step('a filter', () => data(ply().apply('visits', within.filter($('page').in(['page 1', 'page 2']).and($('channel').is(r('#en')).not()))).apply('Count', $('visits').count()).select('Count')),
    [{ Count: 10 }]);
  await step('unique values', () => data(ply().apply('visits', within).apply('Pages', $('visits').countDistinct('$page')).select('Pages')).then((d) => [Math.round(d[0].Pages)]), [7]);
  await step('rows', async () => (await data(within.limit(3))).length, 3);
  await step('the latest time', async () => {
    const max = await ply().apply('Max', $('visits').max('$__time')).compute(context);
    return new Date(max.toJS().data[0].Max.value || max.toJS().data[0].Max).toISOString();
  }, '2024-01-02T23:00:00.000Z');
});
