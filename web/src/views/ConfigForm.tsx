// A form made from a schema: settings of a session, of a model, of the host.

import { useEffect, useId, useState } from "react";
import { debounced } from "../lib/debounce";
import type { ConfigPropertySchema, ConfigSchema, JsonObject } from "../protocol/types";
import { choicesOf, inOrder, isMeaningful, withoutTicks } from "../state/sessionSettings";

type Suggest = (key: string, query: string) => Promise<{ value: string; label: string }[]>;

interface Props {
  schema: ConfigSchema;
  values: JsonObject;
  onChange: (key: string, value: unknown) => void;
  isFixed?: (key: string, property: ConfigPropertySchema) => boolean;
  suggest?: Suggest;
}

export function ConfigForm({ schema, values, onChange, isFixed, suggest }: Props) {
  return (
    <div className="config-form">
      {inOrder(schema.properties).filter(([key]) => isMeaningful(key, schema, values)).map(([key, property]) => (
        <Property
          key={key}
          name={key}
          property={property}
          value={values[key] ?? property.default}
          isDisabled={property.readOnly === true || isFixed?.(key, property) === true}
          onChange={(value) => onChange(key, value)}
          suggest={property.enumDynamic && suggest ? suggest : undefined}
        />
      ))}
    </div>
  );
}

interface PropertyProps {
  name: string;
  property: ConfigPropertySchema;
  value: unknown;
  isDisabled: boolean;
  onChange: (value: unknown) => void;
  suggest?: Suggest;
}

function Property({ name, property, value, isDisabled, onChange, suggest }: PropertyProps) {
  const id = useId();
  const field = <Control {...{ name, property, value, isDisabled, onChange, suggest, id }} />;
  return (
    <div className={property.type === "boolean" ? "field inline" : "field"}>
      {property.type === "boolean" && field}
      <label htmlFor={id}>{property.title || name}</label>
      {property.type !== "boolean" && field}
      {property.description && <small>{withoutTicks(property.description)}</small>}
    </div>
  );
}

function Control({ name, property, value, isDisabled, onChange, suggest, id }: PropertyProps & { id: string }) {
  if (property.type === "boolean") {
    return <input id={id} type="checkbox" checked={value === true} disabled={isDisabled} onChange={(event) => onChange(event.target.checked)} />;
  }
  if (suggest) return <Suggested {...{ id, name, value, isDisabled, onChange, suggest }} />;
  if (property.enum?.length) {
    return (
      <select id={id} value={JSON.stringify(value)} disabled={isDisabled} onChange={(event) => onChange(JSON.parse(event.target.value))}>
        {value === undefined && <option value={undefined}>Not set</option>}
        {choicesOf(property).map((choice, index) => (
          <option key={index} value={JSON.stringify(choice.value)} title={choice.about}>
            {choice.label}
          </option>
        ))}
      </select>
    );
  }
  if (property.type === "number" || property.type === "integer") {
    return (
      <input
        id={id}
        type="number"
        defaultValue={typeof value === "number" ? value : ""}
        disabled={isDisabled}
        onBlur={({ target }) => target.value !== "" && onChange(Number(target.value))}
      />
    );
  }
  if (property.type === "string") {
    return (
      <input
        id={id}
        type="text"
        key={String(value)}
        defaultValue={typeof value === "string" ? value : ""}
        disabled={isDisabled}
        onBlur={({ target }) => target.value !== (value ?? "") && onChange(target.value)}
      />
    );
  }
  return <code id={id}>{JSON.stringify(value ?? null)}</code>;
}

const PAUSE_MS = 200;

/** A field with suggestions. They may cost the host work, so they are asked for once somebody is in the field, and pauses. */
function Suggested({ id, name, value, isDisabled, onChange, suggest }: Omit<PropertyProps, "property"> & { id: string; suggest: Suggest }) {
  const [items, setItems] = useState<{ value: string; label: string }[]>([]);
  const [query, setQuery] = useState(typeof value === "string" ? value : "");
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (!isOpen) return;
    let isCurrent = true;
    const asking = debounced(() => void suggest(name, query).then((found) => isCurrent && setItems(found)), PAUSE_MS);
    asking.later();
    return () => {
      isCurrent = false;
      asking.cancel();
    };
  }, [suggest, name, query, isOpen]);
  return (
    <>
      <input
        id={id}
        type="text"
        list={`${id}-list`}
        value={query}
        disabled={isDisabled}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onChange={({ target }) => {
          setQuery(target.value);
          onChange(target.value || undefined);
        }}
      />
      <datalist id={`${id}-list`}>
        {items.map((item) => (
          <option key={item.value} value={item.value}>
            {item.label}
          </option>
        ))}
      </datalist>
    </>
  );
}
