//! Converts the types in debug information to signature types.

use super::rust;
use crate::compile::debug_info::kernels::{Align, Stored};
use crate::compile::debug_info::metadata::{Id, Metadata, Node};
use offload_pack::signature::{
    Content, Enumeration, Enumerator, Field, Identifiers, Record, Scalar, Size, Type,
    field_identifier, identifier,
};
use std::collections::{HashMap, HashSet};

/// The tags of type qualifiers and typedefs, which do not change a type's values.
const TRANSPARENT: [&str; 5] =
    ["typedef", "const_type", "volatile_type", "restrict_type", "atomic_type"];

/// Converts the types in debug information to signature types, and collects the records.
pub(super) struct Types<'ir> {
    metadata: &'ir Metadata<'ir>,
    /// Parameters in memory, keyed by the nodes of their types.
    stored: HashMap<Id, Stored>,
    pub(super) records: Vec<Record>,
    /// The record that was created for each node.
    known: HashMap<Id, Known>,
    /// Records behind pointers, each with a name to use if the record is unnamed. They wait until
    /// no other record is half converted, because two records may refer to each other.
    pointees: Vec<(Id, String)>,
    pub(super) enumerations: Vec<Enumeration>,
    /// The nodes of the enumerations found so far.
    named: HashSet<Id>,
    names: Identifiers,
    /// The typedef names of records and enumerations whose own names differ.
    aliases: HashMap<Id, String>,
    /// Whether rustc wrote the module.
    pub(super) is_rust: bool,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    record: usize,
    /// Whether the record itself was converted. False if only pointers to the record were found so
    /// far.
    is_complete: bool,
}

/// Facts about a record that are computed from its members.
struct Members {
    /// The fields, if all are known.
    fields: Option<Vec<Field>>,
    /// The greatest alignment of the members, or 1 if a member's offset is not a multiple of its
    /// alignment.
    align: Option<u64>,
}

/// Where a value of an empty class occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Empty {
    /// The value is a base class.
    Base,
    Parameter,
}

/// The maximum depth of nested types. No source nests types more deeply.
const DEEPEST: u32 = 64;

impl<'ir> Types<'ir> {
    pub(super) fn new(metadata: &'ir Metadata<'ir>) -> Self {
        Self {
            metadata,
            stored: HashMap::new(),
            records: Vec::new(),
            known: HashMap::new(),
            pointees: Vec::new(),
            enumerations: Vec::new(),
            named: HashSet::new(),
            names: Identifiers::default(),
            aliases: HashMap::new(),
            is_rust: metadata.is_rust(),
        }
    }

    /// Stores what the compiler reports about parameters of one type.
    pub(super) fn add_stored(&mut self, stored: Stored) {
        let known = self.stored.entry(self.bare(stored.ty).0).or_insert(stored);
        if matches!(known.align, Align::AtMost(_)) {
            *known = stored;
        }
    }

    /// Returns the type of a parameter, or `None` if its size is unknown.
    pub(super) fn parameter(&mut self, id: Id, name: &str) -> Option<Type> {
        let ty = self.convert(id, name);
        self.complete_pointees();
        ty
    }

    /// Returns the type that replaces a pointer to shared memory in parameters: an offset into
    /// dynamic shared memory.
    pub(super) fn shared_memory(&mut self) -> Type {
        const NAME: &str = "__local";
        let known = self.records.iter().position(|record| record.source_name == NAME);
        let known = known.unwrap_or_else(|| {
            let offset =
                Field { name: "offset".to_owned(), offset: 0, ty: Type::Scalar(Scalar::U32) };
            let name = self.names.give("SharedMemory");
            let size = Size { bytes: 4, align: 4 };
            self.records.push(Record::new(name, NAME.to_owned(), size, vec![offset], &[]));
            self.records.len() - 1
        });
        Type::Record(self.records[known].name.clone())
    }

    /// Whether C++ passes a value of this type by address, according to clang's description.
    pub(super) fn is_address(&self, id: Id) -> bool {
        let node = self.metadata.node(self.bare(id).0);
        node.is_some_and(|node| node.has_flag("DIFlagTypePassByReference"))
    }

    /// Returns the type of a template argument, which the source may declare without defining it.
    /// Returns `None` for a function, or for an unnamed type such as a lambda.
    pub(super) fn template_argument(&mut self, id: Id) -> Option<Type> {
        let node = self.metadata.node(self.bare(id).0)?;
        if is_record(node) && node.string("name").is_none_or(|name| name.is_empty()) {
            return None;
        }
        let ty = self.pointee(id, "");
        self.complete_pointees();
        ty
    }

    /// Converts the records behind the pointers found so far.
    fn complete_pointees(&mut self) {
        while let Some((id, name)) = self.pointees.pop() {
            // If a record is only declared, its size is unknown, and programs get only its name.
            let _ = self.metadata.node(id).and_then(|node| self.record(id, node, &name));
        }
    }

    /// Returns the size and the alignment, in bits, of a class that is empty as a base class or as
    /// a parameter. Returns `None` for other types, and for types nested deeper than `deepest`.
    fn empty(&self, id: Id, place: Empty, deepest: u32) -> Option<(u64, u64)> {
        let node = self.metadata.node(self.bare(id).0)?;
        let deepest = deepest.checked_sub(1)?;
        let of_type = |node: Node<'ir>| self.empty(node.reference("baseType")?, place, deepest);
        if node.tag() == "array_type" && place == Empty::Parameter {
            let (mut size, align) = of_type(node)?;
            for count in self.counts(node)? {
                size = size.checked_mul(count)?;
            }
            return Some((size, align));
        }
        if !is_struct(node) {
            return None;
        }
        const BYTE: u64 = 8;
        let (mut end, mut align) = (BYTE, node.number("align").unwrap_or(BYTE));
        for member in self.members(node) {
            let is_possible = place == Empty::Parameter || member.tag() == "inheritance";
            let (size, of_member) = of_type(member).filter(|_| is_possible)?;
            end = end.max(member.number("offset").unwrap_or(0).checked_add(size)?);
            align = align.max(of_member).max(member.number("align").unwrap_or(BYTE));
        }
        // If the class is larger, it contains unnamed bit-fields.
        let size = end.checked_next_multiple_of(align)?;
        (node.number("size") == Some(size)).then_some((size, align))
    }

    /// Strips qualifiers and typedefs. Returns the remaining node, whether a qualifier is `const`,
    /// and the name of the innermost typedef.
    fn bare(&self, id: Id) -> (Id, bool, Option<String>) {
        let (mut id, mut is_const, mut alias) = (id, false, None);
        for node in self.transparent(id) {
            is_const |= node.tag() == "const_type";
            alias = node.string("name").or(alias);
            id = node.reference("baseType").unwrap_or(id);
        }
        (id, is_const, alias)
    }

    /// Keeps the name that the source uses for a type, such as `Point` for `typedef struct point_s
    /// { … } Point`. Ignores a typedef of a template, or one in a different file or namespace. Also
    /// ignores a typedef of a vendor's type such as `__half`, because all modules use the name
    /// `__half`.
    fn keep_alias(&mut self, id: Id, bare: Id, node: Node<'ir>) {
        let place = |node: Node<'ir>| (node.reference("file"), node.reference("scope"));
        let typedefs = self.transparent(id);
        let Some(alias) = typedefs.iter().rev().find(|it| it.tag() == "typedef") else { return };
        let is_known =
            node.string("name").is_none_or(|name| name.contains('<') || name.starts_with("__"));
        if let Some(name) = alias.string("name")
            && place(*alias) == place(node)
            && !is_known
        {
            self.aliases.entry(bare).or_insert(name);
        }
    }

    /// Whether values of a type cannot change, because the type or, for an array, its element type
    /// is `const`.
    pub(super) fn is_const(&self, id: Id) -> bool {
        let (bare, is_const, _) = self.bare(id);
        let array = self.metadata.node(bare).filter(|node| node.tag() == "array_type");
        is_const
            || array.and_then(|it| it.reference("baseType")).is_some_and(|of| self.is_const(of))
    }

    /// Returns a variable's template arguments as in the source, such as `<float, 3>`, or an empty
    /// string if there are none.
    pub(super) fn template_arguments(&self, node: Node<'ir>) -> String {
        let argument = |argument: Node<'ir>| match argument.reference("type") {
            Some(ty) if argument.kind == "DITemplateTypeParameter" => {
                let (bare, _, alias) = self.bare(ty);
                alias.or_else(|| self.metadata.node(bare)?.string("name")).unwrap_or_default()
            }
            _ => argument.last_word("value"),
        };
        let mut all = Vec::new();
        for parameter in self.metadata.list(node, "templateParams") {
            all.push(argument(parameter));
        }
        if all.is_empty() { String::new() } else { format!("<{}>", all.join(", ")) }
    }

    /// Returns the qualifiers and typedefs of a type, from the outermost to the innermost.
    fn transparent(&self, id: Id) -> Vec<Node<'ir>> {
        let mut list = Vec::new();
        let mut next = Some(id);
        // Valid debug information contains no type cycles. If it is damaged, the limit ends the
        // loop.
        while let Some(node) =
            next.filter(|_| list.len() < 64).and_then(|id| self.metadata.node(id))
            && TRANSPARENT.contains(&node.tag())
        {
            list.push(node);
            next = node.reference("baseType");
        }
        list
    }

    fn scalar(&self, id: Id, node: Node<'ir>) -> Option<Scalar> {
        let is_size = || {
            let is_rusts = || matches!(node.string("name").as_deref(), Some("usize" | "isize"));
            self.is_rust && is_rusts()
                || self.transparent(id).iter().any(|node| {
                    let name = node.string("name").unwrap_or_default();
                    name.ends_with("size_t")
                        || ["ptrdiff_t", "intptr_t", "uintptr_t"].contains(&name.as_str())
                })
        };
        Some(match scalar(node)? {
            Scalar::I64 if is_size() => Scalar::Isize,
            Scalar::U64 if is_size() => Scalar::Usize,
            other => other,
        })
    }

    /// Returns the type of a value. If the type is an unnamed record, `name` becomes its name.
    fn convert(&mut self, id: Id, name: &str) -> Option<Type> {
        let (bare, _, alias) = self.bare(id);
        let node = self.metadata.node(bare)?;
        self.keep_alias(id, bare, node);
        if let Some(scalar) = self.scalar(id, node).filter(|_| node.kind == "DIBasicType") {
            return Some(Type::Scalar(scalar));
        }
        let (id, name) = (bare, alias.as_deref().unwrap_or(name));
        match node.tag() {
            "enumeration_type" => {
                let ty = match node.reference("baseType") {
                    Some(base) => self.convert(base, name)?,
                    None => Type::Scalar(integer(true, node.number("size")?)?),
                };
                if let Type::Scalar(ty) = ty {
                    self.enumeration(id, node, ty, name);
                }
                Some(ty)
            }
            "pointer_type" | "reference_type" | "rvalue_reference_type" => {
                Some(self.pointer(node, name))
            }
            "array_type" if node.has_flag("DIFlagVector") => self.vector(id, node, alias),
            "array_type" => self.array(node, name),
            _ => self.record(id, node, name),
        }
    }

    /// Adds an enumeration with the names of its values. If the enumeration is unnamed, `name`
    /// becomes its name.
    fn enumeration(&mut self, id: Id, node: Node<'ir>, ty: Scalar, name: &str) {
        let mut names = Identifiers::default();
        let all = self.metadata.list(node, "elements");
        let mut values = Vec::new();
        for node in all {
            let (Some(name), Some(value)) = (node.string("name"), node.integer("value")) else {
                continue;
            };
            // Omit enumerators of type `bool`, because they are not integers.
            if ty.has_value(value) {
                values.push(Enumerator { name: names.give(&identifier(&name)), value });
            }
        }
        if values.is_empty() || !self.named.insert(id) {
            return;
        }
        let source_name = self.source_name(id, node, name);
        let name = self.names.give(&identifier(&source_name));
        self.enumerations.push(Enumeration { name, source_name, ty, values });
    }

    fn pointer(&mut self, node: Node<'ir>, name: &str) -> Type {
        let to_void = |is_mutable| Type::Pointer { is_mutable, to: Box::new(Type::Void) };
        let Some(base) = node.reference("baseType") else { return to_void(true) };
        // In Rust, only the name of a pointer type shows whether it is `const`, because Rust's
        // types have no qualifiers.
        let own = node.string("name").filter(|_| self.is_rust);
        let is_const = own.map_or_else(|| self.is_const(base), |name| rust::is_const(&name));
        let to = self.pointee(base, name).filter(Type::may_be_nested);
        Type::Pointer { is_mutable: !is_const, to: Box::new(to.unwrap_or(Type::Void)) }
    }

    /// Returns the type that a pointer points to, or `None` for a function or an unknown type.
    fn pointee(&mut self, id: Id, name: &str) -> Option<Type> {
        let (bare, _, alias) = self.bare(id);
        let node = self.metadata.node(bare)?;
        self.keep_alias(id, bare, node);
        let name = alias.as_deref().unwrap_or(name);
        if is_record(node) {
            let known = self.known(bare, node, name);
            self.pointees.push((bare, name.to_owned()));
            return Some(Type::Record(self.records[known.record].name.clone()));
        }
        match (node.kind, node.tag()) {
            ("DISubroutineType", _) => None,
            (_, "array_type") if !node.has_flag("DIFlagVector") => {
                let of = self.pointee(node.reference("baseType")?, name)?;
                self.in_array(of, node)
            }
            _ => self.convert(id, name),
        }
    }

    fn array(&mut self, node: Node<'ir>, name: &str) -> Option<Type> {
        let of = self.convert(node.reference("baseType")?, name)?;
        self.in_array(of, node)
    }

    /// Returns the type of an array with this element type, or `None` if the array has too many
    /// dimensions.
    fn in_array(&self, of: Type, array: Node<'ir>) -> Option<Type> {
        let mut ty = of;
        for count in self.counts(array)?.into_iter().rev() {
            ty = ty.may_be_nested().then(|| Type::Array { of: Box::new(ty), count })?;
        }
        Some(ty)
    }

    /// Returns the length of each dimension of an array.
    fn counts(&self, array: Node<'ir>) -> Option<Vec<u64>> {
        let mut counts = Vec::new();
        for range in self.metadata.list(array, "elements") {
            counts.push(range.number("count")?);
        }
        Some(counts)
    }

    /// Returns a record for a vector. The record's size and alignment are the elements' total size,
    /// rounded up to a power of two.
    fn vector(&mut self, id: Id, node: Node<'ir>, alias: Option<String>) -> Option<Type> {
        let Type::Array { of, count } = self.array(node, "")? else { return None };
        let bytes =
            of.size(&self.records)?.bytes.checked_mul(count)?.checked_next_power_of_two()?;
        let name = alias.unwrap_or_else(|| format!("{of}x{count}"));
        let known = self.known(id, node, &name);
        if !known.is_complete {
            let fields =
                vec![Field { name: "lanes".to_owned(), offset: 0, ty: Type::Array { of, count } }];
            self.complete(known, id, Size { bytes, align: bytes }, fields);
        }
        Some(Type::Record(self.records[known.record].name.clone()))
    }

    /// Returns the record for a struct, a union, or another type of known size. Returns `None` if
    /// the size is unknown.
    fn record(&mut self, id: Id, node: Node<'ir>, name: &str) -> Option<Type> {
        let bytes = node.number("size").filter(|bits| *bits > 0)? / 8;
        let known = self.known(id, node, name);
        if !known.is_complete {
            // Insert the record before converting its fields, which may point to it.
            self.known.insert(id, Known { is_complete: true, ..known });
            let owner = self.records[known.record].source_name.clone();
            let Members { fields, align: natural } = self.fields(node, &owner);
            let declared = node.number("align").map(|bits| bits / 8).max(natural);
            // A type that is neither a struct nor a union has no fields, so derive its alignment
            // from its size.
            let declared =
                declared.or_else(|| (!is_record(node)).then(|| bytes.next_power_of_two()));
            let stored = self.stored.get(&id);
            let align = match stored.map(|stored| stored.align) {
                Some(Align::AtMost(most)) => {
                    Some(declared.map_or(most, |declared| declared.min(most)))
                }
                Some(Align::Exactly(align)) => Some(align),
                None => declared,
            };
            let align = align.filter(|it| it.is_power_of_two());
            let align = align.filter(|align| bytes.is_multiple_of(*align)).unwrap_or(1);
            let fields = fields.filter(|_| node.tag() != "union_type").unwrap_or_default();
            self.complete(known, id, Size { bytes, align }, fields);
            if self.records[known.record].content == Content::Opaque
                && self.empty(id, Empty::Parameter, DEEPEST).is_some()
            {
                self.records[known.record].content = Content::Empty;
            }
        }
        Some(Type::Record(self.records[known.record].name.clone()))
    }

    fn known(&mut self, id: Id, node: Node<'ir>, name: &str) -> Known {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let source_name = self.source_name(id, node, name);
        let name = self.names.give(&identifier(&source_name));
        self.records.push(Record::pointed_to(name, source_name));
        let known = Known { record: self.records.len() - 1, is_complete: false };
        self.known.insert(id, known);
        known
    }

    fn complete(&mut self, known: Known, id: Id, size: Size, fields: Vec<Field>) {
        let Record { name, source_name, .. } = self.records[known.record].clone();
        self.records[known.record] = Record::new(name, source_name, size, fields, &self.records);
        self.known.insert(id, Known { is_complete: true, ..known });
    }

    /// Returns the non-static members of a type: fields and base classes.
    fn members(&self, node: Node<'ir>) -> Vec<Node<'ir>> {
        let mut members = self.metadata.list(node, "elements");
        members.retain(|it| {
            matches!(it.tag(), "member" | "inheritance" | "variable") && !is_static(*it)
        });
        members
    }

    fn fields(&mut self, node: Node<'ir>, owner: &str) -> Members {
        let mut fields: Option<Vec<Field>> = Some(Vec::new());
        let mut names = Identifiers::default();
        let (mut align, mut is_packed) = (None, false);
        // The start and the end, in bytes, of the bit-fields directly before the current member.
        let mut bits: Option<(u64, u64)> = None;
        for member in self.members(node) {
            let offset = member.number("offset").unwrap_or(0);
            let declared = member.number("align").map(|bits| bits / 8);
            let Some(base) = member.reference("baseType") else { continue };
            if member.tag() == "inheritance" && self.empty(base, Empty::Base, DEEPEST).is_some() {
                continue;
            }
            let fallback = if member.tag() == "inheritance" { "base" } else { "field" };
            let name = member
                .string("name")
                .filter(|name| !name.is_empty())
                .unwrap_or_else(|| fallback.to_owned());
            let ty = self.convert(base, &format!("{owner}::{name}"));
            let of_type = ty.as_ref().and_then(|ty| ty.size(&self.records)).map(|size| size.align);
            align = align.max(declared).max(of_type);
            if member.has_flag("DIFlagBitField") {
                let end = (offset + member.number("size").unwrap_or(0)).div_ceil(8);
                let run = bits.get_or_insert((offset / 8, end));
                run.1 = run.1.max(end);
                continue;
            }
            is_packed |= of_type.is_some_and(|align| !offset.is_multiple_of(align * 8));
            if let (Some(run), Some(fields)) = (bits.take(), &mut fields) {
                fields.push(bit_field(run, &mut names));
            }
            let is_told = !member.has_flag("DIFlagArtificial") && !member.has_flag("DIFlagVirtual");
            match (ty, &mut fields) {
                (Some(ty), Some(fields)) if is_told => {
                    let name = names.give(&field_identifier(&name));
                    fields.push(Field { name, offset: offset / 8, ty });
                }
                _ => fields = None,
            }
        }
        if let (Some(run), Some(fields)) = (bits.take(), &mut fields) {
            fields.push(bit_field(run, &mut names));
        }
        let align = if is_packed { Some(1) } else { align };
        Members { fields, align }
    }

    /// Returns the name of a type, qualified with its namespaces and classes. If the type is
    /// unnamed, returns `name`.
    fn source_name(&self, id: Id, node: Node<'ir>, name: &str) -> String {
        let own = || node.string("name").filter(|name| !name.is_empty());
        let own = self.aliases.get(&id).cloned().or_else(own);
        own.map_or_else(|| name.to_owned(), |own| self.qualified(node, &own))
    }

    /// Returns a name, qualified with its namespaces and classes.
    pub(super) fn qualified(&self, node: Node<'ir>, name: &str) -> String {
        let mut parts = vec![name.to_owned()];
        let mut scope = self.metadata.follow(node, "scope");
        while let Some(outer) = scope.filter(|_| parts.len() < 64) {
            if outer.kind == "DINamespace" || is_struct(outer) {
                parts.extend(outer.string("name"));
            }
            scope = self.metadata.follow(outer, "scope");
        }
        // In Rust, the outermost namespace is the crate, so omit it.
        if self.is_rust && parts.len() > 1 {
            parts.pop();
        }
        parts.reverse();
        parts.join("::")
    }
}

fn is_struct(node: Node<'_>) -> bool {
    matches!(node.tag(), "structure_type" | "class_type")
}

fn is_record(node: Node<'_>) -> bool {
    is_struct(node) || node.tag() == "union_type"
}

fn is_static(member: Node<'_>) -> bool {
    member.tag() == "variable" || member.has_flag("DIFlagStaticMember")
}

fn bit_field((start, end): (u64, u64), names: &mut Identifiers) -> Field {
    let of = Box::new(Type::Scalar(Scalar::U8));
    Field { name: names.give("bits"), offset: start, ty: Type::Array { of, count: end - start } }
}

fn scalar(node: Node<'_>) -> Option<Scalar> {
    let bits = node.number("size")?;
    match node.encoding() {
        "boolean" if bits == 8 => Some(Scalar::Bool),
        "boolean" => integer(false, bits),
        "signed" | "signed_char" => integer(true, bits),
        "unsigned" | "unsigned_char" | "UTF" => integer(false, bits),
        "float" => match (bits, node.string("name")?.as_str()) {
            (16, "__bf16") => Some(Scalar::Bf16),
            (16, _) => Some(Scalar::F16),
            (32, _) => Some(Scalar::F32),
            // On the CPU, `long double` has a different size and format.
            (64, "long double") => None,
            (64, _) => Some(Scalar::F64),
            _ => None,
        },
        _ => None,
    }
}

fn integer(is_signed: bool, bits: u64) -> Option<Scalar> {
    Some(match (is_signed, bits) {
        (true, 8) => Scalar::I8,
        (false, 8) => Scalar::U8,
        (true, 16) => Scalar::I16,
        (false, 16) => Scalar::U16,
        (true, 32) => Scalar::I32,
        (false, 32) => Scalar::U32,
        (true, 64) => Scalar::I64,
        (false, 64) => Scalar::U64,
        (true, 128) => Scalar::I128,
        (false, 128) => Scalar::U128,
        _ => return None,
    })
}
