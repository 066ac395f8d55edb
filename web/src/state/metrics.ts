// The numbers that the host tells about itself (OTLP, as JSON), for a table.

export interface Metric {
  name: string;
  description: string;
  unit: string;
  values: { labels: string; value: number }[];
}

interface Point {
  attributes?: { key: string; value?: Record<string, unknown> }[];
  asDouble?: number;
  asInt?: number | string;
  count?: number | string;
  sum?: number;
}

interface Told {
  name?: string;
  description?: string;
  unit?: string;
  gauge?: { dataPoints?: Point[] };
  sum?: { dataPoints?: Point[] };
  histogram?: { dataPoints?: Point[] };
}

interface Payload {
  resourceMetrics?: { scopeMetrics?: { metrics?: Told[] }[] }[];
}

/** The metrics of one message, by name. */
export function metricsIn(payload: unknown): Metric[] {
  const { resourceMetrics } = (payload ?? {}) as Payload;
  const told = resourceMetrics?.flatMap(({ scopeMetrics }) => scopeMetrics?.flatMap(({ metrics }) => metrics ?? []) ?? []) ?? [];
  return told.map(metricOf).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function metricOf({ name = "", description = "", unit = "", gauge, sum, histogram }: Told): Metric {
  const points = (gauge ?? sum)?.dataPoints?.map((point) => ({ labels: labelsOf(point), value: Number(point.asDouble ?? point.asInt ?? 0) })) ?? [];
  const means = histogram?.dataPoints?.map((point) => ({ labels: labelsOf(point), value: meanOf(point) })) ?? [];
  return { name, description: histogram ? `${description} (mean)`.trim() : description, unit, values: [...points, ...means] };
}

function meanOf({ count, sum }: Point): number {
  const times = Number(count ?? 0);
  return times > 0 ? (sum ?? 0) / times : 0;
}

function labelsOf({ attributes = [] }: Point): string {
  return attributes.map(({ key, value }) => `${key}: ${String(Object.values(value ?? {})[0] ?? "")}`).join(", ");
}
