// What templates share: settings are fields with two colons, which AllenNLP does not see.

// How similar two names are, from 0 to 1: the share of pairs of letters that they have in common.
local likeness(a, b) =
  local pairs(name) = std.set([name[i:i + 2] for i in std.range(0, std.length(name) - 2)]);
  2 * std.length(std.setInter(pairs(a), pairs(b))) / (std.length(pairs(a)) + std.length(pairs(b)));

// The names of the settings of a config, sorted.
local hidden_fields(config) = std.setDiff(std.objectFieldsAll(config), std.objectFields(config));

{
  // Refuses a setting that the template does not have, because it would have no effect.
  checked(template)::
    local known = hidden_fields(template);
    template {
      assert
        local unknown = std.setDiff(hidden_fields(self), known);
        unknown == [] ||
        local likenesses = [[likeness(name, unknown[0]), name] for name in known];
        local closest = std.foldl(function(best, each) if each[0] > best[0] then each else best, likenesses, [-1, ''])[1];
        error '`%s::` is no field of the template; did you mean `%s::`? The fields are: %s. For a name of your '
              % [unknown[0], closest, std.join(', ', known)] + 'own, use `local`.',
    },
}
