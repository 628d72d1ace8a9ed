// Settings are fields with two colons, which AllenNLP does not see. A template declares each setting with its default,
// range and meaning, which `allennlp describe` prints. Evaluating a config checks the values that it sets:
//
//   local settings = import 'settings.libsonnet';
//
//   settings.template({
//     hidden_size: settings.size(256) { about: 'The size of the state of the LSTM.' },
//     grad_norm: settings.or_null(settings.number(5, above=0)),
//   }, {
//     model: { encoder: { hidden_size: $.hidden_size } },
//     trainer: { grad_norm: $.grad_norm },
//   })

// A declaration: the kind of value, the default, the range in words, and a test of whether a value is in the range.
local declaration(kind, default, range, allows) = { kind: kind, default: default, range: range, allows:: allows };

// The limits of a range of numbers, in words: "from 1 to 9", "of at least 0 and below 1".
local limits(least, above, most, below) =
  local low = if above != null then ['above %g' % above] else if least != null then ['of at least %g' % least] else [];
  local high = if below != null then ['below %g' % below] else if most != null then ['at most %g' % most] else [];
  std.join(' and ', low + high);

local is_within(value, least, above, most, below) =
  std.isNumber(value)
  && (least == null || value >= least)
  && (above == null || value > above)
  && (most == null || value <= most)
  && (below == null || value < below);

local is_whole(value) = std.isNumber(value) && std.floor(value) == value;

// A value for an error message, in at most 60 characters.
local shown(value) =
  local text = std.manifestJsonMinified(value);
  if std.length(text) > 60 then text[0:57] + '...' else text;

// The similarity of two names, from 0 to 1: the share of letter pairs that they have in common.
local likeness(a, b) =
  local pairs(name) = std.set([name[i:i + 2] for i in std.range(0, std.length(name) - 2)]);
  2 * std.length(std.setInter(pairs(a), pairs(b))) / (std.length(pairs(a)) + std.length(pairs(b)));

local closest(name, known) =
  local likenesses = [[likeness(each, name), each] for each in known];
  std.foldl(function(best, each) if each[0] > best[0] then each else best, likenesses, [-1, ''])[1];

// The names of the hidden fields of a config, sorted.
local hidden_fields(config) = std.setDiff(std.objectFieldsAll(config), std.objectFields(config));

// Rejects a setting that the template does not have, because it would have no effect.
local check_names(config, known) =
  local unknown = std.setDiff(hidden_fields(config), std.set(known + ['settings']));
  unknown == [] ||
  error '`%s::` is no field of the template; did you mean `%s::`? The fields are: %s. For your own names, use `local`.'
        % [unknown[0], closest(unknown[0], known), std.join(', ', known)];

local check_value(name, value, declared) =
  declared.allows(value) || error '`%s::` must be %s; got %s' % [name, declared.range, shown(value)];

{
  // Numbers within optional limits.
  number(default, least=null, above=null, most=null, below=null)::
    declaration(
      'number',
      default,
      'a number ' + limits(least, above, most, below),
      function(value) is_within(value, least, above, most, below)
    ) + { least: least, above: above, most: most, below: below },

  // Whole numbers.
  whole(default, least, most)::
    declaration(
      'whole',
      default,
      'a whole number from %d to %d' % [least, most],
      function(value) is_whole(value) && is_within(value, least, null, most, null)
    ) + { least: least, most: most },

  // The size of a layer or of a vector.
  size(default):: self.whole(default, 1, 65536),

  // A dropout probability.
  dropout(default):: self.number(default, least=0, below=1),

  boolean(default):: declaration('boolean', default, 'true or false', std.isBoolean),

  text(default)::
    declaration('text', default, 'a text that is not empty', function(value) std.isString(value) && value != ''),

  one_of(default, choices)::
    declaration(
      'one_of',
      default,
      'one of ' + std.join(', ', [shown(each) for each in choices]),
      function(value) std.isString(value) && std.count(choices, value) > 0
    ) + { choices: choices },

  // How files or instances spell spans.
  encoding(default):: self.or_null(self.one_of(default, ['BIO', 'IOB1', 'BIOUL', 'BMES', 'IOBES', 'IO'])),

  // Lists; `item` declares their items.
  list(default, item, may_be_empty=true)::
    declaration(
      'list',
      default,
      'a list%s, each %s' % [if may_be_empty then '' else ' of at least one item', item.range],
      function(value)
        std.isArray(value) && (may_be_empty || value != []) && std.all([item.allows(each) for each in value])
    ) + { items: item, may_be_empty: may_be_empty },

  // A registered part: its type, or an object with type and arguments, which AllenNLP checks when it builds the part.
  part(default, example)::
    declaration(
      'part',
      default,
      'a type or an object such as ' + example,
      function(value) (std.isString(value) && value != '') || std.isObject(value)
    ),

  // A setting that every config must give, with the error message for when it does not.
  required(declared, message):: declared { default:: error message, required: true },

  or_null(declared)::
    declared {
      range: super.range + ', or null',
      allows:: function(value) value == null || declared.allows(value),
      nullable: true,
    },

  // A template: the declarations of its settings, and the config that uses them.
  template(declarations, config)::
    local names = std.objectFields(declarations);
    std.foldl(function(fields, name) fields { [name]:: declarations[name].default }, names, {}) + config + {
      settings:: declarations,
      assert check_names(self, names),
      assert std.all([check_value(name, self[name], declarations[name]) for name in names]),
    },
}
